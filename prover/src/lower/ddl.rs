//! CREATE TABLE, CREATE INDEX and ALTER TABLE ADD CONSTRAINT.

use std::collections::BTreeMap;

use sqlparser::ast;

use crate::ir::{Assumption, Column, Expr, ForeignKey, Key, Schema, Table, Type};

use super::scope::{Field, Scope};
use super::types::written;
use super::{Lowerer, Result, absent, assume, empty, last_name, no, parse, unset};

/// A reference whose parent may not be declared yet.
struct Reference<'a> {
    child: usize,
    columns: Vec<&'a ast::Ident>,
    parent: &'a ast::ObjectName,
    parent_columns: Vec<&'a ast::Ident>,
}

/// A CHECK, read when all columns are known.
struct Check<'a> {
    table: usize,
    condition: &'a ast::Expr,
}

/// What one pass over the statements leaves for the next.
#[derive(Default)]
struct Builder<'a> {
    schema: Schema,
    /// The primary key of each table.
    primary: Vec<Option<Vec<usize>>>,
    references: Vec<Reference<'a>>,
    checks: Vec<Check<'a>>,
}

pub(super) fn schema(ddl: &str, placeholders: &BTreeMap<String, String>) -> Result<Schema> {
    let statements = parse(ddl)?;
    let mut builder = Builder::default();
    for statement in &statements {
        match statement {
            ast::Statement::CreateTable(table) => builder.create_table(table)?,
            ast::Statement::CreateIndex(index) => builder.create_index(index)?,
            ast::Statement::AlterTable(change) => builder.alter_table(change)?,
            other => return no(format!("the statement {other}")),
        }
    }
    let Builder { mut schema, primary, references, checks } = builder;
    for (table, columns) in schema.tables.iter_mut().zip(&primary) {
        for column in columns.iter().flatten() {
            if !std::mem::replace(&mut table.columns[*column].not_null, true) {
                schema.assumptions.insert(Assumption::PrimaryKeyNotNull);
            }
        }
    }
    for reference in references {
        resolve(&mut schema, &primary, &reference);
    }
    for Check { table, condition } in checks {
        let check = check(&mut schema, table, condition)?;
        schema.tables[table].checks.push(check);
    }
    add_placeholders(&mut schema, placeholders)?;
    let is_double = |column: &Column| column.ty == Type::Double && !column.single;
    if schema.has_single() && schema.tables.iter().flat_map(|t| &t.columns).any(is_double) {
        // Where they meet, some engines round one to the other.
        return no("REAL or FLOAT beside DOUBLE PRECISION");
    }
    Ok(schema)
}

impl<'a> Builder<'a> {
    #[expect(clippy::too_many_lines, reason = "one line for each part of the statement")]
    fn create_table(&mut self, table: &'a ast::CreateTable) -> Result<()> {
        let ast::CreateTable {
            or_replace,
            temporary,
            unlogged: _,
            external,
            dynamic,
            global,
            if_not_exists: _,
            transient: _,
            volatile: _,
            iceberg,
            snapshot,
            name,
            columns,
            constraints,
            hive_distribution,
            // Formats, options and where the data lies do not change what a query returns.
            hive_formats: _,
            table_options: _,
            file_format: _,
            location: _,
            query,
            without_rowid: _,
            like,
            clone,
            version,
            comment: _,
            on_commit,
            on_cluster,
            primary_key,
            order_by,
            partition_by,
            cluster_by,
            clustered_by,
            inherits,
            partition_of,
            for_values,
            strict: _,
            copy_grants: _,
            enable_schema_evolution,
            change_tracking,
            data_retention_time_in_days,
            max_data_extension_time_in_days,
            default_ddl_collation,
            with_aggregation_policy,
            with_row_access_policy,
            with_storage_lifecycle_policy,
            with_tags,
            external_volume,
            with_connection,
            base_location,
            catalog,
            catalog_sync,
            storage_serialization_policy,
            target_lag,
            warehouse,
            refresh_mode,
            initialize,
            require_user,
            diststyle: _,
            distkey: _,
            sortkey: _,
            backup: _,
            multiset,
            fallback,
            with_data,
        } = table;
        let strange = [
            *or_replace,
            *temporary,
            *external,
            *dynamic,
            global.is_some(),
            *iceberg,
            *snapshot,
            !matches!(hive_distribution, ast::HiveDistributionStyle::NONE),
            query.is_some(),
            like.is_some(),
            clone.is_some(),
            version.is_some(),
            on_commit.is_some(),
            on_cluster.is_some(),
            primary_key.is_some(),
            order_by.is_some(),
            partition_by.is_some(),
            cluster_by.is_some(),
            clustered_by.is_some(),
            inherits.is_some(),
            partition_of.is_some(),
            for_values.is_some(),
            enable_schema_evolution.is_some(),
            change_tracking.is_some(),
            data_retention_time_in_days.is_some(),
            max_data_extension_time_in_days.is_some(),
            default_ddl_collation.is_some(),
            with_aggregation_policy.is_some(),
            with_row_access_policy.is_some(),
            with_storage_lifecycle_policy.is_some(),
            with_tags.is_some(),
            external_volume.is_some(),
            with_connection.is_some(),
            base_location.is_some(),
            catalog.is_some(),
            catalog_sync.is_some(),
            storage_serialization_policy.is_some(),
            target_lag.is_some(),
            warehouse.is_some(),
            refresh_mode.is_some(),
            initialize.is_some(),
            *require_user,
            multiset.is_some(),
            fallback.is_some(),
            with_data.is_some(),
        ];
        unset(strange.contains(&true), "CREATE TABLE in this form")?;
        let name = last_name(name)?.value.clone();
        if self.schema.table(&name).is_some() {
            return no(format!("two tables named {name}"));
        }
        let index = self.schema.tables.len();
        self.schema.tables.push(Table {
            name,
            columns: Vec::new(),
            keys: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
        });
        self.primary.push(None);
        for column in columns {
            self.column(index, column)?;
        }
        for constraint in constraints {
            self.constraint(index, constraint)?;
        }
        Ok(())
    }

    fn column(&mut self, table: usize, column: &'a ast::ColumnDef) -> Result<()> {
        let ast::ColumnDef { name, data_type, options } = column;
        let ty = written(data_type)?;
        if ty.is_padded() {
            self.schema.assumptions.insert(Assumption::NoPaddingOrTruncation);
        }
        let columns = &mut self.schema.tables[table].columns;
        if columns.iter().any(|c| c.name.eq_ignore_ascii_case(&name.value)) {
            return no(format!("two columns named {}", name.value));
        }
        let index = columns.len();
        let (decimal, single, size) = (ty.decimal(), ty.is_single(), ty.size());
        let name = name.value.clone();
        columns.push(Column { name, ty: ty.family, size, not_null: false, is_virtual: false, decimal, single });
        for ast::ColumnOptionDef { name: _, option } in options {
            match option {
                ast::ColumnOption::Null
                | ast::ColumnOption::Default(_)
                | ast::ColumnOption::Comment(_)
                | ast::ColumnOption::OnUpdate(_) => {}
                ast::ColumnOption::NotNull => self.schema.tables[table].columns[index].not_null = true,
                ast::ColumnOption::PrimaryKey(constraint) => {
                    plain_primary_key(constraint)?;
                    self.key(table, vec![index], true)?;
                }
                ast::ColumnOption::Unique(constraint) => {
                    plain_unique(constraint)?;
                    self.key(table, vec![index], false)?;
                }
                ast::ColumnOption::ForeignKey(constraint) => {
                    self.reference(table, constraint, vec![&column.name])?;
                }
                ast::ColumnOption::Check(constraint) => self.check(table, constraint),
                other => return no(format!("the column option {other}")),
            }
        }
        Ok(())
    }

    fn constraint(&mut self, table: usize, constraint: &'a ast::TableConstraint) -> Result<()> {
        match constraint {
            ast::TableConstraint::PrimaryKey(constraint) => {
                plain_primary_key(constraint)?;
                let columns = self.columns(table, &constraint.columns)?;
                self.key(table, columns, true)
            }
            ast::TableConstraint::Unique(constraint) => {
                plain_unique(constraint)?;
                let columns = self.columns(table, &constraint.columns)?;
                self.key(table, columns, false)
            }
            ast::TableConstraint::ForeignKey(constraint) => {
                self.reference(table, constraint, constraint.columns.iter().collect())
            }
            ast::TableConstraint::Check(constraint) => {
                self.check(table, constraint);
                Ok(())
            }
            // An index that is not unique has no meaning.
            ast::TableConstraint::Index(_) => Ok(()),
            other => no(format!("the constraint {other}")),
        }
    }

    /// ALTER TABLE ... ADD CONSTRAINT.
    fn alter_table(&mut self, change: &'a ast::AlterTable) -> Result<()> {
        let ast::AlterTable { name, if_exists: _, only: _, operations, location, on_cluster, table_type, end_token: _ } =
            change;
        absent(location.as_ref(), "LOCATION")?;
        absent(on_cluster.as_ref(), "ON CLUSTER")?;
        absent(table_type.as_ref(), "ALTER of a table of this kind")?;
        let name = last_name(name)?;
        let Some(table) = self.schema.table(&name.value) else { return no(format!("unknown table {}", name.value)) };
        for operation in operations {
            match operation {
                ast::AlterTableOperation::AddConstraint { constraint, not_valid: false } => {
                    self.constraint(table, constraint)?;
                }
                other => return no(format!("ALTER TABLE {other}")),
            }
        }
        Ok(())
    }

    fn key(&mut self, table: usize, columns: Vec<usize>, primary: bool) -> Result<()> {
        if primary {
            if self.primary[table].is_some() {
                return no("two primary keys");
            }
            self.primary[table] = Some(columns.clone());
        }
        let key = Key { columns };
        let keys = &mut self.schema.tables[table].keys;
        if !keys.contains(&key) {
            keys.push(key);
        }
        Ok(())
    }

    fn check(&mut self, table: usize, constraint: &'a ast::CheckConstraint) {
        let ast::CheckConstraint { name: _, expr, no_inherit: _, enforced } = constraint;
        // A constraint that is not enforced says nothing.
        if *enforced != Some(false) {
            self.checks.push(Check { table, condition: expr });
        }
    }

    fn reference(
        &mut self,
        child: usize,
        constraint: &'a ast::ForeignKeyConstraint,
        columns: Vec<&'a ast::Ident>,
    ) -> Result<()> {
        let ast::ForeignKeyConstraint {
            name: _,
            index_name: _,
            columns: _,
            foreign_table,
            referred_columns,
            // What happens on changes has no meaning for what the tables hold between them.
            on_delete: _,
            on_update: _,
            match_kind,
            characteristics,
        } = constraint;
        match match_kind {
            None | Some(ast::ConstraintReferenceMatchKind::Simple) => {}
            // Of one column the same.
            Some(ast::ConstraintReferenceMatchKind::Full) => unset(columns.len() > 1, "MATCH FULL of several columns")?,
            Some(ast::ConstraintReferenceMatchKind::Partial) => return no("MATCH PARTIAL"),
        }
        if is_enforced(characteristics.as_ref())? {
            let parent_columns = referred_columns.iter().collect();
            self.references.push(Reference { child, columns, parent: foreign_table, parent_columns });
        }
        Ok(())
    }

    fn columns(&self, table: usize, columns: &[ast::IndexColumn]) -> Result<Vec<usize>> {
        let table = &self.schema.tables[table];
        columns
            .iter()
            .map(|ast::IndexColumn { column, operator_class }| {
                absent(operator_class.as_ref(), "an operator class")?;
                let ast::OrderByExpr { expr, options: _, with_fill } = column;
                absent(with_fill.as_ref(), "WITH FILL")?;
                match expr {
                    ast::Expr::Identifier(name) => match position(table, &name.value) {
                        Some(index) => Ok(index),
                        None => no(format!("unknown column {}", name.value)),
                    },
                    other => no(format!("an index on {other}")),
                }
            })
            .collect()
    }

    fn create_index(&mut self, index: &ast::CreateIndex) -> Result<()> {
        let ast::CreateIndex {
            name: _,
            table_name,
            using: _,
            columns,
            unique,
            concurrently: _,
            r#async: _,
            if_not_exists: _,
            include: _,
            nulls_distinct,
            with: _,
            predicate,
            index_options: _,
            alter_options,
        } = index;
        empty(alter_options, "options of an index")?;
        // An index that is not unique, or is so for some rows only, says nothing that must be known.
        if !unique || predicate.is_some() {
            return Ok(());
        }
        if *nulls_distinct == Some(false) {
            return no("NULLS NOT DISTINCT");
        }
        let name = last_name(table_name)?;
        let Some(table) = self.schema.table(&name.value) else { return no(format!("unknown table {}", name.value)) };
        let columns = self.columns(table, columns)?;
        self.key(table, columns, false)
    }
}

fn plain_primary_key(constraint: &ast::PrimaryKeyConstraint) -> Result<()> {
    let ast::PrimaryKeyConstraint {
        name: _,
        index_name: _,
        index_type: _,
        columns: _,
        include: _,
        index_options: _,
        characteristics,
    } = constraint;
    let enforced = is_enforced(characteristics.as_ref())?;
    unset(!enforced, "a primary key that is not enforced")
}

fn plain_unique(constraint: &ast::UniqueConstraint) -> Result<()> {
    let ast::UniqueConstraint {
        name: _,
        index_name: _,
        index_type_display: _,
        index_type: _,
        columns: _,
        include: _,
        index_options: _,
        characteristics,
        nulls_distinct,
    } = constraint;
    match nulls_distinct {
        ast::NullsDistinctOption::None | ast::NullsDistinctOption::Distinct => {}
        ast::NullsDistinctOption::NotDistinct => return no("NULLS NOT DISTINCT"),
    }
    let enforced = is_enforced(characteristics.as_ref())?;
    unset(!enforced, "a unique constraint that is not enforced")
}

/// Whether a constraint is enforced. Deferred ones hold between transactions.
fn is_enforced(characteristics: Option<&ast::ConstraintCharacteristics>) -> Result<bool> {
    let Some(ast::ConstraintCharacteristics { deferrable, initially, enforced }) = characteristics else {
        return Ok(true);
    };
    if *deferrable == Some(true) || initially.is_some() {
        return no("a deferrable constraint");
    }
    Ok(*enforced != Some(false))
}

fn position(table: &Table, name: &str) -> Option<usize> {
    table.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
}

/// Adds a foreign key. One whose parent is not in the schema says nothing about the tables that are. Another one that is
/// not to a key of the same types is left out, and that is noted.
fn resolve(schema: &mut Schema, primary: &[Option<Vec<usize>>], reference: &Reference<'_>) {
    let Reference { child, columns, parent, parent_columns } = reference;
    let find = |table: &Table, names: &[&ast::Ident]| {
        names.iter().map(|name| position(table, &name.value)).collect::<Option<Vec<_>>>()
    };
    let Some(parent) = last_name(parent).ok().and_then(|name| schema.table(&name.value)) else { return };
    let (from, to) = (schema.tables[*child].name.clone(), schema.tables[parent].name.clone());
    let parent_columns =
        if parent_columns.is_empty() { primary[parent].clone() } else { find(&schema.tables[parent], parent_columns) };
    let (Some(columns), Some(parent_columns)) = (find(&schema.tables[*child], columns), parent_columns) else {
        schema.left_out.push(format!("a foreign key from {from} to {to}, whose columns cannot be found"));
        return;
    };
    let is_key = schema.tables[parent]
        .keys
        .iter()
        .any(|key| key.columns.len() == parent_columns.len() && key.columns.iter().all(|c| parent_columns.contains(c)));
    let same_types = columns
        .iter()
        .zip(&parent_columns)
        .all(|(a, b)| schema.tables[*child].columns[*a].ty == schema.tables[parent].columns[*b].ty);
    if is_key && same_types && columns.len() == parent_columns.len() {
        schema.tables[*child].foreign_keys.push(ForeignKey { columns, parent, parent_columns });
    } else {
        schema.left_out.push(format!("a foreign key from {from} to {to}, which is not to a key of the same types"));
    }
}

/// A CHECK over the row of its table.
fn check(schema: &mut Schema, table: usize, condition: &ast::Expr) -> Result<Expr> {
    let (name, columns) = (&schema.tables[table].name, &schema.tables[table].columns);
    let fields = columns.iter().enumerate().map(|(index, column)| Field {
        qualifier: Some(name.clone()),
        name: Some(column.name.clone()),
        expr: Expr::column(index, column.result()),
        relation: 0,
        ordinal: index,
        bare: true,
        star: true,
        is_virtual: false,
        base: Some((table, index)),
    });
    let scope = Scope { fields: fields.collect(), hidden: false };
    let mut lowerer = Lowerer::new(schema);
    let check = lowerer.with_scope(scope, |this| this.condition(condition))?;
    let mut assumptions = std::mem::take(&mut lowerer.assumptions);
    assume::expr(&check, &mut assumptions);
    schema.assumptions.append(&mut assumptions);
    Ok(check)
}

/// Adds the virtual tables, then the virtual columns.
fn add_placeholders(schema: &mut Schema, placeholders: &BTreeMap<String, String>) -> Result<()> {
    let bad = |name: &str, text: &str| no(format!("the placeholder {name}: {text}"));
    for (name, text) in placeholders {
        if let Some(columns) = inside(text, "Table(") {
            if schema.table(name).is_some() {
                return bad(name, text);
            }
            let columns = placeholder_columns(columns)?;
            schema.tables.push(Table {
                name: name.clone(),
                columns,
                keys: Vec::new(),
                foreign_keys: Vec::new(),
                checks: Vec::new(),
            });
        } else if inside(text, "Expr(").is_none() {
            return bad(name, text);
        }
    }
    for (name, text) in placeholders {
        let Some(signature) = inside(text, "Expr(") else { continue };
        let Some((table, ty)) = signature.split_once(':') else { return bad(name, text) };
        let Some(table) = schema.table(table.trim()) else { return bad(name, text) };
        let columns = placeholder_columns(&format!("p {ty}"))?;
        let table = &mut schema.tables[table];
        let [Column { ty, size, single, .. }] = columns.as_slice() else { return bad(name, text) };
        if position(table, name).is_some() {
            return bad(name, text);
        }
        table.columns.push(Column {
            name: name.clone(),
            ty: ty.clone(),
            size: *size,
            not_null: false,
            is_virtual: true,
            decimal: None,
            single: *single,
        });
    }
    Ok(())
}

/// The columns of a signature, which has no constraints.
fn placeholder_columns(text: &str) -> Result<Vec<Column>> {
    let schema = schema(&format!("CREATE TABLE placeholder ({text})"), &BTreeMap::new())?;
    match schema.tables.into_iter().next() {
        Some(Table { name: _, columns, keys, foreign_keys, checks })
            if !columns.is_empty()
                && keys.is_empty()
                && foreign_keys.is_empty()
                && checks.is_empty()
                && columns.iter().all(|c| !c.not_null) =>
        {
            Ok(columns)
        }
        _ => no(format!("the placeholder columns {text}")),
    }
}

/// The text between `prefix` and the closing parenthesis.
fn inside<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.trim().strip_prefix(prefix)?.strip_suffix(')')
}
