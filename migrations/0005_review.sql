-- What waits for a decision is found without looking at every proof.
CREATE INDEX proof_refuted ON proof (class_id) WHERE verdict = 'refuted';
