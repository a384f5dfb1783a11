//! A store that is as large as one gets in years, for measurements.

use super::{Store, StoreError};

impl Store {
    /// Whether the store has nothing in it that somebody could miss.
    pub async fn is_empty(&self) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT FROM class) OR EXISTS (SELECT FROM campaign) OR EXISTS (SELECT FROM run) AS "some!""#
        );
        Ok(!found.fetch_one(&self.pool).await?)
    }

    /// Makes classes, and findings of twenty to a bug, in an empty store. Their texts have the length and the words of real
    /// ones; some words are in all, some in one of thousands.
    pub async fn fill_for_bench(&self, classes: i32, findings: i32) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!(
            "INSERT INTO class (name, hash, origin, about, schema, placeholders, dialects, assumes, state, similarity, features)
             SELECT 'bench-' || lpad(i::text, 7, '0'), md5(i::text), 'origin-' || i % 5,
                 'An outer join on a false condition pads every row, in its form ' || i,
                 'CREATE TABLE t1(c0 INT, c1 TEXT); CREATE TABLE t2(c0 INT);', '{\"p1\": \"Expr(t1: BOOLEAN)\"}',
                 CASE WHEN i % 10 = 0 THEN ARRAY['sqlite'] ELSE '{}'::text[] END,
                 CASE WHEN i % 7 = 0 THEN ARRAY[(ARRAY['exact-sums', 'primary-key-not-null', 'text-equality-is-identity'])[1 + i % 3]] ELSE '{}'::text[] END,
                 (ARRAY['quarantined', 'draft', 'released'])[1 + least(i % 10, 2)], (i % 1000) / 1000.0,
                 CASE WHEN i % 101 = 0 THEN ARRAY['rtree'] WHEN i % 3 = 0 THEN ARRAY['left join'] ELSE ARRAY['group by'] END
             FROM generate_series(1, $1::int) AS i",
            classes
        )
        .execute(&mut *tx)
        .await?;
        sqlx::query!(
            "INSERT INTO member (class_id, position, sql)
             SELECT id, position, 'SELECT t1.c0, f' || id % 5000 || '(t1.c1) FROM t1 LEFT JOIN t2 ON t1.c0 = t2.c0 WHERE t1.p1 AND '
                 || 't1.c0 > ' || id || ' GROUP BY 1, 2 HAVING count(*) < ' || position
             FROM class CROSS JOIN generate_series(1, 3) AS position"
        )
        .execute(&mut *tx)
        .await?;
        sqlx::query!(
            "UPDATE class SET members = 3, takes = assumes, search = words(concat_ws(' ', name, about, schema,
                 (SELECT string_agg(sql, ' ' ORDER BY position) FROM member WHERE class_id = class.id)))"
        )
        .execute(&mut *tx)
        .await?;
        sqlx::query!(
            "INSERT INTO campaign (key, dbms, version, seed, summary)
             SELECT 'bench ' || i, 'sqlite@3.39.2', '3.39.2', i::text, '{}' FROM generate_series(1, 200) AS i"
        )
        .execute(&mut *tx)
        .await?;
        let bugs = (findings / 20).max(1);
        sqlx::query!(
            "INSERT INTO bug (fingerprint, kind, class, dbms, state, why)
             SELECT 'sqlite@3.39.2: wrong-result: right with switch' || i % 700 || ' ' || i, 'wrong-result',
                 'bench-' || lpad((1 + i % $2::int)::text, 7, '0'), 'sqlite@3.39.2',
                 (ARRAY['new', 'confirmed', 'reported', 'fixed', 'ignored'])[1 + i % 5], 'a reason'
             FROM generate_series(1, $1::int) AS i",
            bugs,
            classes
        )
        .execute(&mut *tx)
        .await?;
        sqlx::query!(
            "INSERT INTO finding (id, campaign_id, bug_id, kind, oracle, class, size, version, finding)
             SELECT 'bench' || i, (SELECT min(id) FROM campaign) + i % 200, (SELECT min(id) FROM bug) + i % $2::int, 'wrong-result',
                 'caq', 'bench-' || lpad((1 + i % $3::int)::text, 7, '0'), 100 + i % 900, '3.39.2',
                 jsonb_build_object('id', 'bench' || i, 'kind', 'wrong-result', 'oracle', 'caq', 'class', 'bench',
                     'dbms', 'sqlite@3.39.2', 'version', '3.39.2', 'build_id', '3.39.2', 'seed', 1, 'block', 0, 'case', i,
                     'statements', jsonb_build_array('CREATE TABLE t1(c0 INT, c1 TEXT)',
                     'INSERT INTO t1 VALUES (' || i || ', ''a'')'), 'queries', '[]'::jsonb, 'fillings', '[]'::jsonb,
                     'features', '[]'::jsonb, 'reduced', true)
             FROM generate_series(1, $1::int) AS i",
            findings,
            bugs,
            classes
        )
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        // The server does so by itself, some time later.
        sqlx::query!("VACUUM ANALYZE class, member, bug, finding, campaign").execute(&self.pool).await?;
        Ok(())
    }
}
