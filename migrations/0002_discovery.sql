-- Discovery (Argus paper, section 5, Algorithm 1). Every step is one transaction, keyed by what it is about, so that
-- repeating it changes nothing.

CREATE TABLE run (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of everything that decides what the run does; the same command finds the same run again.
    key     text NOT NULL UNIQUE,
    config  jsonb NOT NULL,
    -- Who works on it; a program that lost its lock to another one can store nothing more.
    owner   bigint NOT NULL DEFAULT 0,
    created timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE seed (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id       bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    -- From 0, in the order of the generator or the file.
    number       integer NOT NULL,
    name         text,
    schema       text NOT NULL,
    placeholders jsonb NOT NULL,
    sql          text NOT NULL,
    -- Why the loop ended; NULL while it has not.
    ended        text,
    class_id     bigint REFERENCES class ON DELETE SET NULL,
    UNIQUE (run_id, number)
);

-- What was asked of a model, and what came back. Paid for once: a row is there before the request is sent.
CREATE TABLE exchange (
    -- Of the whole request, which holds which of several askings it is.
    request_hash   text NOT NULL,
    run_id         bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    prompt_id      text NOT NULL,
    prompt_version text NOT NULL,
    prompt_hash    text NOT NULL,
    request        jsonb NOT NULL,
    -- sent: no answer yet, counts at the worst case; open: to be sent again; answered; failed: for good, with the reason.
    state          text NOT NULL CHECK (state IN ('sent', 'open', 'answered', 'failed')),
    -- Whether it went into a batch, from which the answer comes later.
    batched        boolean NOT NULL DEFAULT false,
    exchange       jsonb,
    error          text,
    -- What it cost, or at worst may have cost.
    calls          bigint NOT NULL,
    tokens         bigint NOT NULL,
    micro_usd      bigint NOT NULL,
    created        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, request_hash),
    CHECK ((state = 'answered') = (exchange IS NOT NULL))
);

CREATE TABLE step (
    seed_id      bigint NOT NULL REFERENCES seed ON DELETE CASCADE,
    number       integer NOT NULL,
    request_hash text,
    -- What became of the asking: a number of candidates, or the kind of failure.
    outcome      text NOT NULL,
    PRIMARY KEY (seed_id, number)
);

CREATE TABLE candidate (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seed_id     bigint NOT NULL,
    step        integer NOT NULL,
    position    integer NOT NULL,
    sql         text NOT NULL,
    -- The rules that made it, if rules did.
    rules       text[] NOT NULL,
    verdict     text NOT NULL CHECK (verdict IN ('proven', 'refuted', 'unknown', 'duplicate')),
    reason      text,
    -- INSERT statements after which it differs from its seed.
    witness     text[],
    assumptions text[] NOT NULL,
    prover      text NOT NULL,
    certificate jsonb,
    -- Why it cannot stand in a class; NULL if it can.
    unbound     text,
    -- Why each target refused it; a target that took it is not there. NULL for one that was not tried.
    refused     jsonb,
    plan        jsonb,
    UNIQUE (seed_id, step, position),
    FOREIGN KEY (seed_id, step) REFERENCES step ON DELETE CASCADE
);

-- Batches handed to an endpoint.
CREATE TABLE batch (
    -- As the endpoint calls it.
    id      text PRIMARY KEY,
    run_id  bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    -- Whether its answers are here.
    ended   boolean NOT NULL DEFAULT false,
    created timestamptz NOT NULL DEFAULT now()
);
