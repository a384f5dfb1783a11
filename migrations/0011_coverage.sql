-- What people see of how far hunts came: the plans that a campaign met, and the features of an engine that hunts reached.

ALTER TABLE sample ADD COLUMN plans bigint NOT NULL DEFAULT 0;

-- The last look at each target.
CREATE TABLE coverage (
    dbms     text PRIMARY KEY,
    dialect  text NOT NULL,
    version  text NOT NULL,
    -- How many features of each kind there are and were reached.
    counts   jsonb NOT NULL,
    -- The same with their names.
    coverage jsonb NOT NULL,
    looked   timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE job DROP CONSTRAINT job_kind_check,
    ADD CONSTRAINT job_kind_check CHECK (kind IN ('prove', 'bisect', 'install', 'cover'));
CREATE INDEX job_subject ON job (kind, subject, id);
