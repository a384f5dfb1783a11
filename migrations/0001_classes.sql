-- Oracle classes: a schema with placeholders and queries over it that return the same bag of rows.

CREATE TABLE class (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    -- Of the class as it was written with its proofs: writing the same again changes nothing.
    hash         text NOT NULL,
    origin       text NOT NULL,
    about        text NOT NULL,
    schema       text NOT NULL,
    placeholders jsonb NOT NULL,
    dialects     text[] NOT NULL,
    assumes      text[] NOT NULL,
    -- draft: no engine has checked it yet; released: engines agree on it; quarantined: an engine disagrees.
    state        text NOT NULL CHECK (state IN ('draft', 'released', 'quarantined')),
    -- Why it is in that state: what the cross-check ran, or the finding that speaks against it.
    evidence     jsonb,
    -- Similarity of its members' plans (Argus paper, section 7.6), from 0 to 1.
    similarity   double precision CHECK (similarity BETWEEN 0 AND 1),
    created      timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE member (
    class_id bigint NOT NULL REFERENCES class ON DELETE CASCADE,
    -- From 1, as people read it.
    position integer NOT NULL CHECK (position > 0),
    sql      text NOT NULL,
    -- The optimizer switch flipped while it runs, by name, or * for any.
    switch   text,
    -- Its plan on the target of the discovery that found it.
    plan     jsonb,
    PRIMARY KEY (class_id, position)
);

-- What the prover said about two members: the edges that connect a class.
CREATE TABLE proof (
    class_id       bigint NOT NULL REFERENCES class ON DELETE CASCADE,
    left_position  integer NOT NULL,
    right_position integer NOT NULL CHECK (right_position > left_position),
    -- Of the texts that the verdict is about.
    hash           text NOT NULL,
    verdict        text NOT NULL CHECK (verdict IN ('proven', 'refuted', 'unknown')),
    assumptions    text[] NOT NULL,
    reason         text,
    prover         text NOT NULL,
    certificate    jsonb,
    PRIMARY KEY (class_id, left_position, right_position),
    FOREIGN KEY (class_id, left_position) REFERENCES member ON DELETE CASCADE,
    FOREIGN KEY (class_id, right_position) REFERENCES member ON DELETE CASCADE
);

CREATE TABLE snippet (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    dialect text NOT NULL,
    sql     text NOT NULL,
    origin  text NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    UNIQUE (dialect, sql)
);
