-- Several campaigns, engines and services on one store: a finding is a campaign's own, a job a service's own.

-- The same seed on the same target finds the same case again.
ALTER TABLE finding DROP CONSTRAINT finding_pkey, ADD PRIMARY KEY (campaign_id, id);
ALTER TABLE finding ADD COLUMN version text;
UPDATE finding SET version = finding ->> 'version';
CREATE INDEX finding_kind ON finding (kind, number);

-- Texts are too long for an index; a class whose member is withdrawn is locked.
ALTER TABLE withdrawal DROP CONSTRAINT withdrawal_pkey, ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
CREATE INDEX withdrawal_class ON withdrawal (class_id);

-- One that runs is about what was there when it began; what was asked for since is another. A service that is gone does
-- nothing for others, and engines are installed where a service is.
DROP INDEX job_once;
CREATE UNIQUE INDEX job_once ON job (service, kind, subject) WHERE state = 'waiting';

-- What a service has to go on with, and how many campaigns it runs.
CREATE INDEX campaign_open ON campaign (service) WHERE state IN ('running', 'stopping');
