//! What the engine and its protocol cost by themselves.

use super::executor::{CASE_STREAM, DATABASE_STREAM, Executor, nanos};
use super::stats::Stats;
use crate::clock;
use crate::config::CASES_PER_EPOCH;
use crate::program::Program;
use crate::rng::stream;

impl Executor {
    /// Sends the statements of the first blocks and nothing else: what the engine and its protocol cost by themselves, as
    /// statements, CPU time and the server's. `None` where there is no server of our own.
    pub fn raw(&mut self, blocks: u64) -> Option<Stats> {
        let oracles = self.session.oracles.clone();
        let mut work = Vec::new();
        let mut program = Program::default();
        for block in 0..blocks {
            let database = oracles.database(&mut stream(self.config.spec.seed, &[DATABASE_STREAM, block]));
            let mut queries = Vec::new();
            for number in 0..CASES_PER_EPOCH {
                let case = database.case(&mut stream(self.config.spec.seed, &[CASE_STREAM, block, u64::from(number)]));
                program.clear();
                case.program(&mut program);
                let plain = program
                    .steps()
                    .iter()
                    .filter(|q| q.switch.is_none() && q.before.is_empty() && q.sql.holes().is_empty() && !q.undone);
                queries.extend(plain.map(|q| q.sql.sql().to_owned()));
            }
            work.push((database.epochs()[0].clone(), queries));
        }
        let connection = self.session.connection.as_mut();
        let (server, cpu) = (connection.server_cpu()?, clock::cpu_time());
        let mut statements = 0;
        for (setup, queries) in &work {
            let _ = connection.reset();
            statements += setup.len() + queries.len();
            setup.iter().for_each(|sql| drop(connection.execute(sql)));
            queries.iter().for_each(|sql| drop(connection.rows(sql)));
        }
        Some(Stats {
            statements: statements as u64,
            cpu_ns: nanos(clock::cpu_time().saturating_sub(cpu)),
            server_ns: nanos(connection.server_cpu()?.saturating_sub(server)),
            ..Stats::default()
        })
    }
}
