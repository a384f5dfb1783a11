//! Real dumps, shortened.

use super::*;
use crate::generate::seed::{Generator, Options};

const POSTGRES: &str = r#"--
-- PostgreSQL database dump
--
\restrict abc;def
SET statement_timeout = 0;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE TYPE public.mood AS ENUM (
    'sad',
    'happy'
);
CREATE FUNCTION public.f() RETURNS integer LANGUAGE sql AS $$ SELECT 1; $$;
SET default_tablespace = '';
CREATE TABLE public."Order Items" (
    order_id integer NOT NULL,
    "position" smallint NOT NULL,
    price numeric(10,2) DEFAULT 0.0,
    quantity integer,
    CONSTRAINT positive CHECK (((quantity > 0) AND (price >= (0)::numeric))),
    CONSTRAINT odd CHECK ((lower('x'::text) = 'x'::text))
);
ALTER TABLE public."Order Items" OWNER TO shop;
CREATE TABLE public.customers (
    id bigint NOT NULL,
    name character varying(20) DEFAULT 'x;y'::character varying,
    born date,
    mood public.mood,
    tags text[],
    balance numeric(12,0),
    parent bigint
);
CREATE TABLE public."order" (
    id integer NOT NULL,
    customer bigint,
    "at" timestamp without time zone DEFAULT now() NOT NULL
);
CREATE TABLE archive.customers (
    id bigint NOT NULL
);
COPY public.customers (id, name) FROM stdin;
1	it's; CREATE TABLE x(y int);
\.
ALTER TABLE ONLY public.customers ADD CONSTRAINT customers_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."order" ADD CONSTRAINT order_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."Order Items" ADD CONSTRAINT items_pkey PRIMARY KEY (order_id, "position");
CREATE INDEX by_name ON public.customers USING btree (name);
CREATE UNIQUE INDEX by_mood ON public.customers USING btree (mood);
CREATE UNIQUE INDEX by_lower ON public.customers USING btree (lower((name)::text));
ALTER TABLE ONLY public."order" ADD CONSTRAINT order_fk FOREIGN KEY (customer) REFERENCES public.customers(id) ON DELETE CASCADE;
ALTER TABLE ONLY public."Order Items" ADD CONSTRAINT items_fk FOREIGN KEY (order_id) REFERENCES public."order"(id);
ALTER TABLE ONLY public.customers ADD CONSTRAINT self_fk FOREIGN KEY (parent) REFERENCES public.customers(id);
"#;

const SQLITE: &str = r#"CREATE TABLE IF NOT EXISTS "Album"
(
    [AlbumId] INTEGER  NOT NULL PRIMARY KEY AUTOINCREMENT,
    [Title] NVARCHAR(160)  NOT NULL,
    extra,
    where_ GEOMETRY,
    total DECIMAL(8,2) GENERATED ALWAYS AS (1) VIRTUAL
) STRICT;
CREATE TABLE sqlite_sequence(name,seq);
CREATE TABLE track(id INTEGER PRIMARY KEY, album INTEGER REFERENCES "Album", started DATE, UNIQUE (album, started)) WITHOUT ROWID;
CREATE TRIGGER t AFTER INSERT ON track BEGIN UPDATE track SET album = 1; DELETE FROM track; END;
CREATE VIRTUAL TABLE f USING fts5(x);
CREATE VIEW v AS SELECT 1;
"#;

const MYSQL: &str = r"/*!40101 SET @saved_cs_client     = @@character_set_client */;
CREATE TABLE `key` (
  `id` int(11) unsigned NOT NULL AUTO_INCREMENT COMMENT 'it\'s; the key',
  `active` tinyint(1) NOT NULL DEFAULT 1,
  `kind` enum('a','b;') COLLATE utf8mb4_bin DEFAULT 'a',
  `changed` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `place` point DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u` (`kind`,`active`),
  KEY `k` (`changed`)
) ENGINE=InnoDB AUTO_INCREMENT=3 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `key` VALUES (1,'it\'s; (CREATE TABLE x(y int))');
CREATE TABLE `child` (
  `id` int(11) DEFAULT NULL,
  `parent` int(10) unsigned DEFAULT NULL,
  CONSTRAINT `c1` FOREIGN KEY (`parent`) REFERENCES `key` (`id`) ON DELETE SET NULL,
  CONSTRAINT `c2` FOREIGN KEY (`id`) REFERENCES `gone` (`id`)
) ENGINE=InnoDB;
";

fn printed(dump: &Dump) -> String {
    super::super::schema::ddl(&dump.schema, &vec![true; dump.schema.tables.len()]).replace("; ", ";\n")
}

fn left_out(dump: &Dump) -> String {
    dump.left_out.join("\n")
}

#[test]
fn what_pg_dump_prints_is_read() {
    let dump = read(POSTGRES);
    let expected = "CREATE TABLE customers(id INT PRIMARY KEY, name TEXT, born TEXT, mood TEXT UNIQUE, balance INT, parent INT);\n\
        CREATE TABLE order_(id INT PRIMARY KEY, customer INT REFERENCES customers(id), at TEXT NOT NULL);\n\
        CREATE TABLE Order_Items(order_id INT REFERENCES order_(id), position INT, price REAL, quantity INT, \
        PRIMARY KEY (order_id, position), CHECK ((quantity > 0) AND (price >= 0)));\n\
        CREATE TABLE archive_customers(id INT NOT NULL);";
    let mut lines: Vec<String> = printed(&dump).lines().map(str::to_owned).collect();
    let mut wanted: Vec<&str> = expected.lines().collect();
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lines, wanted, "{:#?}", dump.report());
    let out = left_out(&dump);
    for what in ["customers.tags: no type of classes is near TEXT[]", "lower(", "refers to its own table", "by_lower"] {
        assert!(out.contains(what), "{what}: {out}");
    }
    let report = dump.report().join("\n");
    for what in [
        "assumed: CHARACTER VARYING(20) is taken as TEXT, of any length, compared byte by byte (1 columns)",
        "renamed: table public.\"order\" is order_",
        "renamed: table archive.customers is archive_customers",
        "2 SET",
        "1 COPY",
    ] {
        assert!(report.contains(what), "{what}: {report}");
    }
}

#[test]
fn what_sqlite_prints_is_read() {
    let dump = read(SQLITE);
    let expected = "CREATE TABLE Album(AlbumId INT PRIMARY KEY, Title TEXT NOT NULL, extra TEXT, total REAL);\n\
                    CREATE TABLE track(id INT PRIMARY KEY, album INT REFERENCES Album(AlbumId), started TEXT, UNIQUE (album, started));";
    assert_eq!(printed(&dump), expected, "{:#?}", dump.report());
    let out = left_out(&dump);
    for what in [
        "where_: no type of classes is near GEOMETRY",
        "table f: it is a virtual table",
        "how \"Album\".total is computed",
    ] {
        assert!(out.contains(what), "{what}: {out}");
    }
    assert_eq!(dump.passed_over.get("CREATE TRIGGER"), Some(&1), "{:?}", dump.passed_over);
}

#[test]
fn what_mysqldump_prints_is_read() {
    let dump = read(MYSQL);
    let expected = "CREATE TABLE key_(id INT PRIMARY KEY, active BOOLEAN NOT NULL, kind TEXT, changed TEXT NOT NULL, \
                    UNIQUE (kind, active));\nCREATE TABLE child(id INT, parent INT REFERENCES key_(id));";
    assert_eq!(printed(&dump), expected, "{:#?}", dump.report());
    let out = left_out(&dump);
    for what in
        ["`key`.place: no type of classes is near", "foreign key (id) of `child`: the table `gone` is not in the dump"]
    {
        assert!(out.contains(what), "{what}: {out}");
    }
}

#[test]
fn tables_in_a_circle_lose_one_key() {
    let dump =
        read("CREATE TABLE a(x INT PRIMARY KEY REFERENCES b(y)); CREATE TABLE b(y INT PRIMARY KEY REFERENCES a(x));");
    assert_eq!(dump.schema.tables.iter().map(|t| t.foreign_keys.len()).collect::<Vec<_>>(), [0, 1]);
    assert!(left_out(&dump).contains("in a circle"), "{}", left_out(&dump));
}

#[test]
fn seeds_over_real_schemas_run() {
    use crate::config::STATEMENT_LIMITS;
    use crate::dbms::Connection as _;
    let mut sqlite = crate::dbms::sqlite::Sqlite::linked(STATEMENT_LIMITS).expect("opens");
    for text in [POSTGRES, SQLITE, MYSQL] {
        let dump = read(text);
        let all: String = printed(&dump);
        let generator =
            Generator::new(7, &Options { tables: Some(dump.schema), ..Options::default() }).expect("usable");
        let mut partly = 0;
        for number in 0..100 {
            let caq = generator.seed(number).caq;
            crate::caq::class::read_names(&caq.schema, &caq.placeholders).expect("is a class schema");
            partly += usize::from(caq.schema.len() < all.len());
            sqlite.reset().expect("resets");
            for statement in caq.schema.split_inclusive("; ") {
                sqlite.execute(statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
            }
        }
        assert!(partly > 5, "a seed has the tables that it needs: {partly}");
    }
}

#[test]
fn whatever_the_text_is_nothing_breaks() {
    for text in [
        "",
        "garbage ' here",
        "CREATE TABLE",
        "CREATE TABLE t(",
        "CREATE TABLE t(a b c d);",
        "ALTER TABLE x ADD y INT;",
    ] {
        assert!(read(text).schema.tables.is_empty() || text.contains("b c"), "{text}");
    }
    assert!(
        left_out(&read("CREATE TABLE t(;")).starts_with("CREATE TABLE t: "),
        "{}",
        left_out(&read("CREATE TABLE t(;"))
    );
    assert!(left_out(&read("CREATE TABLE t AS SELECT 1 AS a")).contains("a query"));
}
