//! Whole behaviours, each file named after the claim it defends. One program, so that everything is linked once.

mod catalogue_holds_on_sqlite;
mod command_line;
mod discovery_goes_on;
mod discovery_with_a_model;
mod engines_in_python;
mod engines_survive_faults;
mod every_exit_tells_what_happened;
mod findings_can_be_shown;
mod folded_values_agree;
mod kill_nine_loses_nothing;
mod known_bugs_answer_as_stated;
mod layers;
mod model_faults_are_counted;
mod one_directory_one_campaign;
mod output_that_nobody_reads;
mod planted_bugs_are_reported;
mod prover_evaluator_agrees_with_sqlite;
mod same_seed_same_cases;
mod shipped_classes_are_proven;
mod store_keeps_what_it_is_given;
mod support;
mod types_of_results;
mod values_are_consistent;
mod what_breaks_is_a_finding;
mod what_users_bring_is_read;
mod wrong_classes_are_found;
