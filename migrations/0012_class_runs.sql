-- What became of the cases that campaigns ran of each class, by the target and its version.
CREATE TABLE class_run (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    class    text NOT NULL,
    dbms     text NOT NULL,
    version  text NOT NULL,
    pass     bigint NOT NULL,
    void     bigint NOT NULL,
    fail     bigint NOT NULL,
    UNIQUE (class, dbms, version)
);
