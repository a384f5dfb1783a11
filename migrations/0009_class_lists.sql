-- Classes of one origin, by how much their plans differ.
CREATE INDEX class_origin_similarity ON class (origin, similarity);
