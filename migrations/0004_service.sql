-- What the service needs: revisions of rows for writers that must not overwrite each other, counts and words for lists that
-- are long, campaigns that are started here, jobs, events, tokens, and who changed what.

-- A time as the API writes it (RFC 3339, UTC).
CREATE FUNCTION utc(at timestamptz) RETURNS text LANGUAGE sql STABLE STRICT AS
    $$ SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') $$;

-- The words of a text of SQL, and what is searched for in them: names and keywords, without marks, whatever their case.
CREATE FUNCTION plain_words(body text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT regexp_replace(lower(left(body, 200000)), '[^[:alnum:]_]+', ' ', 'g') $$;
CREATE FUNCTION words(body text) RETURNS tsvector LANGUAGE sql IMMUTABLE STRICT AS
    $$ SELECT to_tsvector('simple'::regconfig, regexp_replace(lower(left(body, 200000)), '[^[:alnum:]_]+', ' ', 'g')) $$;

-- Counts the changes of a row.
CREATE FUNCTION count_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := OLD.revision + 1;
    NEW.changed := now();
    RETURN NEW;
END $$;

ALTER TABLE class
    ADD COLUMN revision bigint NOT NULL DEFAULT 1,
    ADD COLUMN changed  timestamptz NOT NULL DEFAULT now(),
    -- SQL features of its members; NULL until they are known.
    ADD COLUMN features text[],
    -- What it and its proofs take for granted.
    ADD COLUMN takes    text[] NOT NULL DEFAULT '{}',
    ADD COLUMN members  integer NOT NULL DEFAULT 0,
    ADD COLUMN proofs   integer NOT NULL DEFAULT 0,
    -- Findings of its name: its yield.
    ADD COLUMN findings bigint NOT NULL DEFAULT 0,
    -- The words of its name, its reason, its schema and its members.
    ADD COLUMN search   tsvector;

UPDATE class SET
    members = (SELECT count(*) FROM member WHERE class_id = class.id),
    proofs = (SELECT count(*) FROM proof WHERE class_id = class.id AND verdict = 'proven'),
    takes = ARRAY(SELECT DISTINCT taken FROM (
        SELECT unnest(class.assumes) AS taken
        UNION SELECT unnest(assumptions) FROM proof WHERE class_id = class.id AND verdict = 'proven') AS all_taken ORDER BY taken),
    findings = (SELECT count(*) FROM finding WHERE finding.class = class.name),
    search = words(concat_ws(' ', name, about, schema,
        (SELECT string_agg(sql, ' ' ORDER BY position) FROM member WHERE class_id = class.id)));

CREATE TRIGGER class_revision BEFORE UPDATE OF hash, origin, about, state, evidence, similarity ON class
    FOR EACH ROW EXECUTE FUNCTION count_revision();

CREATE INDEX class_search ON class USING gin (search);
CREATE INDEX class_features ON class USING gin (features);
CREATE INDEX class_takes ON class USING gin (takes);
CREATE INDEX class_state ON class (state, name);
CREATE INDEX class_origin ON class (origin, name);
CREATE INDEX class_findings ON class (findings);
CREATE INDEX class_similarity ON class (similarity);

-- Members that a person took out of a class. They stay out, whoever proposes them again.
CREATE TABLE withdrawal (
    class_id bigint NOT NULL REFERENCES class ON DELETE CASCADE,
    sql      text NOT NULL,
    switch   text NOT NULL DEFAULT '',
    why      text NOT NULL,
    created  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (class_id, sql, switch)
);

ALTER TABLE snippet
    ADD COLUMN revision bigint NOT NULL DEFAULT 1,
    ADD COLUMN changed  timestamptz NOT NULL DEFAULT now(),
    -- Why no campaign uses it; NULL for one that may be used.
    ADD COLUMN disabled text;
CREATE TRIGGER snippet_revision BEFORE UPDATE ON snippet FOR EACH ROW EXECUTE FUNCTION count_revision();
CREATE INDEX snippet_dialect ON snippet (dialect, id);
CREATE INDEX snippet_search ON snippet USING gin (words(sql));

CREATE INDEX candidate_verdict ON candidate (verdict, id);
CREATE INDEX candidate_search ON candidate USING gin (words(sql));
CREATE INDEX seed_class ON seed (class_id);

ALTER TABLE campaign
    ADD COLUMN revision bigint NOT NULL DEFAULT 1,
    ADD COLUMN changed  timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN state    text NOT NULL DEFAULT 'finished'
        CHECK (state IN ('running', 'stopping', 'stopped', 'finished', 'failed')),
    -- What was asked for; NULL for a campaign of `caqtus hunt`.
    ADD COLUMN spec     jsonb,
    -- Which service runs it: one that starts again goes on with its own.
    ADD COLUMN service  text,
    ADD COLUMN asked_by text,
    -- Of the request that started it, with its client's name before it.
    ADD COLUMN idempotency_key text UNIQUE,
    -- Seconds that its parts took so far.
    ADD COLUMN seconds  double precision NOT NULL DEFAULT 0,
    ADD COLUMN findings bigint NOT NULL DEFAULT 0,
    ADD COLUMN error    text,
    ADD COLUMN ended    timestamptz;
UPDATE campaign SET findings = (SELECT count(*) FROM finding WHERE campaign_id = campaign.id);
CREATE TRIGGER campaign_revision BEFORE UPDATE OF state, error, ended, spec ON campaign
    FOR EACH ROW EXECUTE FUNCTION count_revision();

-- How far a campaign was, at times that become rarer: what a chart of it shows.
CREATE TABLE sample (
    campaign_id bigint NOT NULL REFERENCES campaign ON DELETE CASCADE,
    -- Of hunting, over all parts of the campaign.
    seconds     double precision NOT NULL,
    cases       bigint NOT NULL,
    statements  bigint NOT NULL,
    pass        bigint NOT NULL,
    skipped     bigint NOT NULL,
    warning     bigint NOT NULL,
    fail        bigint NOT NULL,
    findings    bigint NOT NULL,
    PRIMARY KEY (campaign_id, seconds)
);

ALTER TABLE bug
    ADD COLUMN revision   bigint NOT NULL DEFAULT 1,
    ADD COLUMN changed    timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN state      text NOT NULL DEFAULT 'new'
        CHECK (state IN ('new', 'confirmed', 'reported', 'fixed', 'not-a-bug', 'ignored')),
    -- Where it was reported.
    ADD COLUMN url        text,
    -- The version that fixed it, as far as is known.
    ADD COLUMN fixed_in   text,
    -- Between which versions it shows.
    ADD COLUMN bisection  jsonb,
    ADD COLUMN findings   bigint NOT NULL DEFAULT 0,
    ADD COLUMN last_found timestamptz NOT NULL DEFAULT now();
UPDATE bug SET findings = (SELECT count(*) FROM finding WHERE bug_id = bug.id);
CREATE TRIGGER bug_revision BEFORE UPDATE OF state, url, fixed_in, bisection ON bug
    FOR EACH ROW EXECUTE FUNCTION count_revision();
CREATE INDEX bug_state ON bug (state, id);
CREATE INDEX bug_dbms ON bug (dbms, id);
CREATE INDEX bug_class ON bug (class, id);
CREATE INDEX bug_search ON bug USING gin (words(fingerprint));

CREATE TABLE bug_note (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bug_id  bigint NOT NULL REFERENCES bug ON DELETE CASCADE,
    author  text NOT NULL,
    body    text NOT NULL CHECK (length(body) BETWEEN 1 AND 20000),
    created timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX bug_note_bug ON bug_note (bug_id, id);

ALTER TABLE finding
    -- In the order in which they came.
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
    -- Characters of its statements and queries.
    ADD COLUMN size   integer NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX finding_number ON finding (number);
CREATE INDEX finding_campaign ON finding (campaign_id, number);
CREATE INDEX finding_bug ON finding (bug_id, number);
CREATE INDEX finding_smallest ON finding (bug_id, size, number);
CREATE INDEX finding_class ON finding (class, number);

CREATE FUNCTION count_findings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bug SET findings = bug.findings + fresh.n, last_found = now()
        FROM (SELECT bug_id, count(*) AS n FROM fresh_findings GROUP BY 1) AS fresh WHERE bug.id = fresh.bug_id;
    UPDATE campaign SET findings = campaign.findings + fresh.n
        FROM (SELECT campaign_id, count(*) AS n FROM fresh_findings GROUP BY 1) AS fresh WHERE campaign.id = fresh.campaign_id;
    UPDATE class SET findings = class.findings + fresh.n
        FROM (SELECT class, count(*) AS n FROM fresh_findings GROUP BY 1) AS fresh WHERE class.name = fresh.class;
    RETURN NULL;
END $$;
CREATE TRIGGER finding_counts AFTER INSERT ON finding REFERENCING NEW TABLE AS fresh_findings
    FOR EACH STATEMENT EXECUTE FUNCTION count_findings();

-- What the service does beside hunting.
CREATE TABLE job (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind     text NOT NULL CHECK (kind IN ('prove', 'bisect', 'install')),
    -- What it is about: a class, a bug, an engine's version.
    subject  text NOT NULL,
    -- waiting: nobody could do it yet; running: a service is at it.
    state    text NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    service  text NOT NULL,
    asked_by text NOT NULL,
    idempotency_key text UNIQUE,
    -- What it said last, or came to.
    message  text NOT NULL DEFAULT '',
    result   jsonb,
    created  timestamptz NOT NULL DEFAULT now(),
    ended    timestamptz
);
CREATE UNIQUE INDEX job_once ON job (kind, subject) WHERE state IN ('waiting', 'running');

-- What happened, for those who watch. Written last in a transaction and under a lock, so that who has seen one event has
-- seen all with smaller numbers.
CREATE TABLE event (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind        text NOT NULL,
    campaign_id bigint REFERENCES campaign ON DELETE CASCADE,
    data        jsonb NOT NULL,
    created     timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX event_campaign ON event (campaign_id, id);

CREATE TABLE token (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100),
    role    text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    -- BLAKE3 of the token, which is 256 random bits.
    hash    text NOT NULL UNIQUE,
    created timestamptz NOT NULL DEFAULT now(),
    expires timestamptz,
    revoked timestamptz
);

-- Who changed what. Nothing changes these rows.
CREATE TABLE audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now(),
    -- The name of a token, or `loopback`.
    who     text NOT NULL,
    action  text NOT NULL,
    subject text NOT NULL,
    before  jsonb,
    after   jsonb
);
CREATE INDEX audit_subject ON audit (subject, id);
