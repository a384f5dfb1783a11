-- What snippets that are combinations are made of: the outer one, in which another stands in the place of a column.
CREATE TABLE snippet_parent (
    snippet_id bigint NOT NULL REFERENCES snippet ON DELETE CASCADE,
    parent_id  bigint NOT NULL REFERENCES snippet ON DELETE CASCADE,
    place      text NOT NULL CHECK (place IN ('outer', 'inner')),
    PRIMARY KEY (snippet_id, place)
);
