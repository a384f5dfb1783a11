-- Campaigns and what they found.

CREATE TABLE campaign (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the target, the seed and the classes: a campaign that goes on keeps its row.
    key      text NOT NULL UNIQUE,
    dbms     text NOT NULL,
    version  text NOT NULL,
    seed     text NOT NULL,
    -- The sums of the output contract of `caqtus hunt --json`.
    summary  jsonb NOT NULL,
    started  timestamptz NOT NULL DEFAULT now(),
    updated  timestamptz NOT NULL DEFAULT now()
);

-- Findings that are likely one defect: the same kind, class and engine.
CREATE TABLE bug (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text NOT NULL UNIQUE,
    kind        text NOT NULL,
    class       text NOT NULL,
    dbms        text NOT NULL,
    created     timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE finding (
    -- Of its case, as its directory is called.
    id          text PRIMARY KEY,
    campaign_id bigint NOT NULL REFERENCES campaign ON DELETE CASCADE,
    bug_id      bigint NOT NULL REFERENCES bug,
    kind        text NOT NULL,
    class       text NOT NULL,
    -- The finding as in its case.json.
    finding     jsonb NOT NULL,
    created     timestamptz NOT NULL DEFAULT now()
);
