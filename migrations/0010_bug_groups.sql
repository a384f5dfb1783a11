-- What people decide of the findings of a bug: which bugs are one, which findings are a bug of their own, and why a bug is
-- not reported.

ALTER TABLE bug
    -- Why it is in its state.
    ADD COLUMN why         text,
    -- The bug that it is a part of. What is found of it later goes there.
    ADD COLUMN merged_into bigint REFERENCES bug,
    -- The case that somebody made a bug of its own; NULL for a bug of all findings with its fingerprint.
    ADD COLUMN split       text,
    -- Findings that no list of known bugs covers.
    ADD COLUMN news        bigint NOT NULL DEFAULT 0;
UPDATE bug SET news = findings;
UPDATE bug SET why = 'no reason was given' WHERE state = 'ignored';
ALTER TABLE bug ADD CHECK (state <> 'ignored' OR why IS NOT NULL), ADD CHECK (merged_into <> id);

ALTER TABLE bug DROP CONSTRAINT bug_fingerprint_key;
CREATE UNIQUE INDEX bug_fingerprint ON bug (fingerprint) WHERE split IS NULL;
CREATE UNIQUE INDEX bug_split ON bug (dbms, split) WHERE split IS NOT NULL;
CREATE INDEX bug_merged ON bug (merged_into) WHERE merged_into IS NOT NULL;

DROP TRIGGER bug_revision ON bug;
CREATE TRIGGER bug_revision BEFORE UPDATE OF state, url, fixed_in, why, bisection ON bug
    FOR EACH ROW EXECUTE FUNCTION count_revision();

ALTER TABLE finding
    ADD COLUMN oracle text,
    -- Why it was known when it came; NULL for news.
    ADD COLUMN known  text;
UPDATE finding SET oracle = finding ->> 'oracle';

CREATE OR REPLACE FUNCTION count_findings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bug SET findings = bug.findings + fresh.n, news = bug.news + fresh.news, last_found = now()
        FROM (SELECT bug_id, count(*) AS n, count(*) FILTER (WHERE known IS NULL) AS news FROM fresh_findings GROUP BY 1)
        AS fresh WHERE bug.id = fresh.bug_id;
    UPDATE campaign SET findings = campaign.findings + fresh.n
        FROM (SELECT campaign_id, count(*) AS n FROM fresh_findings GROUP BY 1) AS fresh WHERE campaign.id = fresh.campaign_id;
    UPDATE class SET findings = class.findings + fresh.n
        FROM (SELECT class, count(*) AS n FROM fresh_findings GROUP BY 1) AS fresh WHERE class.name = fresh.class;
    RETURN NULL;
END $$;
