-- What a run is for: discovering classes, or learning snippets.
ALTER TABLE run ADD COLUMN purpose text NOT NULL DEFAULT 'discovery' CHECK (purpose IN ('discovery', 'corpus'));

ALTER TABLE snippet
    ADD COLUMN kind          text NOT NULL DEFAULT 'expression' CHECK (kind IN ('expression', 'table')),
    -- The run and the request that brought it, if a model wrote it.
    ADD COLUMN run_id        bigint REFERENCES run ON DELETE SET NULL,
    ADD COLUMN request_hash  text,
    ADD COLUMN model         text,
    -- What of the documentation the model was shown.
    ADD COLUMN documentation text[] NOT NULL DEFAULT '{}';

-- What builds of engines were seen to make of snippets.
CREATE TABLE snippet_validation (
    snippet_id bigint NOT NULL REFERENCES snippet ON DELETE CASCADE,
    build_id   text NOT NULL,
    dbms       text NOT NULL,
    version    text NOT NULL,
    verdict    jsonb NOT NULL,
    valid      boolean NOT NULL,
    validated  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (snippet_id, build_id)
);
