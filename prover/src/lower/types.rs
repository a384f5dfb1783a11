//! Types, and how values of different ones meet.

use sqlparser::ast::{self, DataType};

use crate::ir::number::{Engine, Kind, Number};
use crate::ir::{Assumption, CompareOp, Expr, Plan, Size, Type, Value, results};

use super::{Lowerer, Result, literal, no};
use crate::ir::schema::decimal_size;

/// A type as written.
pub(super) struct Written {
    /// Its family.
    pub(super) family: Type,
    /// One spelling for each type: lower case, synonyms replaced.
    pub(super) name: String,
    /// Whether SQLite's CAST yields values of the family, too.
    pub(super) is_so_in_sqlite: bool,
}

impl Written {
    /// Digits in all and after the point, for a DECIMAL that says both.
    pub(super) fn decimal(&self) -> Option<(u32, u32)> {
        decimal_size(&self.name)
    }

    /// Whether it is a floating point type that some engines keep in 32 bits.
    pub(super) fn is_single(&self) -> bool {
        self.family == Type::Double && self.name != "double"
    }

    /// What it leaves out of its family.
    pub(super) fn size(&self) -> Size {
        let unsigned = self.is_unsigned();
        let bits = |bits| Size::Bits { bits, unsigned };
        let word = self.name.split([' ', '(']).next().unwrap_or_default();
        match word {
            "tinyint" => bits(8),
            "smallint" => bits(16),
            "mediumint" => bits(24),
            "integer" => bits(32),
            "bigint" => bits(64),
            "hugeint" => bits(127),
            "char" | "varchar" => {
                let length = self.name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')?.parse().ok());
                length.map_or(Size::Any, Size::Characters)
            }
            _ => Size::Any,
        }
    }

    /// Whether it has no negative numbers.
    pub(super) fn is_unsigned(&self) -> bool {
        self.name.ends_with("unsigned")
    }

    /// The type of a value of it.
    pub(super) fn result(&self) -> Type {
        if self.size().is_long() { results::long() } else { self.family.clone() }
    }

    /// Whether values are padded to a length.
    pub(super) fn is_padded(&self) -> bool {
        self.name.starts_with("char(")
    }
}

/// Reads a type.
pub(super) fn written(ty: &DataType) -> Result<Written> {
    let (family, name) = family_and_name(ty)?;
    let is_so_in_sqlite = sqlite_family(ty).as_ref() == Some(&family);
    Ok(Written { family, name, is_so_in_sqlite })
}

/// What SQLite's CAST to a type always yields, by the letters of its name; `None` where that depends on the value
/// (<https://sqlite.org/datatype3.html#determination_of_column_affinity>).
fn sqlite_family(ty: &DataType) -> Option<Type> {
    let name = ty.to_string().to_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&["INT"]) {
        Some(Type::Integer)
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        Some(Type::Text)
    } else if has(&["REAL", "FLOA", "DOUB"]) && !has(&["BLOB"]) {
        Some(Type::Double)
    } else {
        None
    }
}

fn family_and_name(ty: &DataType) -> Result<(Type, String)> {
    let of = |family, name: &str| Ok((family, name.to_owned()));
    match ty {
        DataType::Bool | DataType::Boolean => of(Type::Boolean, "boolean"),
        DataType::TinyInt(_) => of(Type::Integer, "tinyint"),
        DataType::TinyIntUnsigned(_) => of(Type::Integer, "tinyint unsigned"),
        DataType::SmallInt(_) | DataType::Int2(_) => of(Type::Integer, "smallint"),
        DataType::MediumInt(_) => of(Type::Integer, "mediumint"),
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) | DataType::Int32 => of(Type::Integer, "integer"),
        DataType::BigInt(_) | DataType::Int8(_) | DataType::Int64 | DataType::Signed | DataType::SignedInteger => {
            of(Type::Integer, "bigint")
        }
        DataType::SmallIntUnsigned(_) => of(Type::Integer, "smallint unsigned"),
        DataType::IntUnsigned(_) | DataType::IntegerUnsigned(_) => of(Type::Integer, "integer unsigned"),
        DataType::BigIntUnsigned(_) | DataType::Unsigned | DataType::UnsignedInteger => {
            of(Type::Integer, "bigint unsigned")
        }
        DataType::HugeInt | DataType::Int128 => of(Type::Integer, "hugeint"),
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => {
            let name = match info {
                ast::ExactNumberInfo::None => "decimal".to_owned(),
                ast::ExactNumberInfo::Precision(precision) => format!("decimal({precision},0)"),
                ast::ExactNumberInfo::PrecisionAndScale(precision, scale) => format!("decimal({precision},{scale})"),
            };
            Ok((Type::Decimal, name))
        }
        DataType::Real | DataType::Float4 | DataType::Float32 => of(Type::Double, "real"),
        DataType::Float(ast::ExactNumberInfo::None) => of(Type::Double, "float"),
        DataType::Double(ast::ExactNumberInfo::None)
        | DataType::DoublePrecision
        | DataType::Float8
        | DataType::Float64 => of(Type::Double, "double"),
        DataType::Float(_) | DataType::Double(_) => of(Type::Double, &ty.to_string().to_lowercase()),
        DataType::Char(length) | DataType::Character(length) => sized("char", length.as_ref(), Some(1)),
        DataType::Varchar(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Nvarchar(length) => sized("varchar", length.as_ref(), None),
        DataType::Text
        | DataType::String(None)
        | DataType::TinyText
        | DataType::MediumText
        | DataType::LongText
        | DataType::Clob(None) => of(Type::Text, "text"),
        DataType::Date => of(Type::Date, "date"),
        DataType::Time(precision, ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone) => {
            of(Type::Time, &timed("time", *precision))
        }
        DataType::Timestamp(precision, ast::TimezoneInfo::None | ast::TimezoneInfo::WithoutTimeZone)
        | DataType::Datetime(precision) => of(Type::Timestamp, &timed("timestamp", *precision)),
        DataType::Custom(name, modifiers) => Ok(custom(name, modifiers)),
        other => {
            let name = other.to_string().to_lowercase();
            Ok((Type::Other(name.clone()), name))
        }
    }
}

/// Types that the parser has no name for.
fn custom(name: &ast::ObjectName, modifiers: &[String]) -> (Type, String) {
    let name = name.to_string().to_lowercase();
    let (family, short) = match name.as_str() {
        "number" => (Type::Decimal, "decimal"),
        "varchar2" | "nvarchar2" => (Type::Text, "varchar"),
        "string" => (Type::Text, "text"),
        "serial" => (Type::Integer, "integer"),
        "bigserial" | "long" => (Type::Integer, "bigint"),
        "short" => (Type::Integer, "smallint"),
        "byte" => (Type::Integer, "tinyint"),
        other => (Type::Other(other.to_owned()), other),
    };
    let name = if modifiers.is_empty() { short.to_owned() } else { format!("{short}({})", modifiers.join(",")) };
    (family, name)
}

fn timed(name: &str, precision: Option<u64>) -> String {
    precision.map_or_else(|| name.to_owned(), |p| format!("{name}({p})"))
}

fn sized(name: &str, length: Option<&ast::CharacterLength>, default: Option<u64>) -> Result<(Type, String)> {
    let length = match length {
        None => default,
        Some(ast::CharacterLength::Max) => None,
        Some(ast::CharacterLength::IntegerLength { length, unit: None | Some(ast::CharLengthUnits::Characters) }) => {
            Some(*length)
        }
        Some(other) => return no(format!("the length {other}")),
    };
    let name = length.map_or_else(|| name.to_owned(), |n| format!("{name}({n})"));
    Ok((Type::Text, name))
}

pub(super) fn is_temporal(ty: &Type) -> bool {
    matches!(ty, Type::Date | Type::Moment | Type::Time | Type::Timestamp)
}

/// The type in which values of the two types meet, after the conversions of [`Lowerer::convert`].
pub(super) fn meet(a: &Type, b: &Type) -> Result<Type> {
    if [a, b].contains(&&Type::Other("row".to_owned())) {
        return no("a row value in this place");
    }
    if let Some(ty) = a.unify(b) {
        return Ok(ty);
    }
    match (a, b) {
        (Type::Boolean, t) | (t, Type::Boolean) if t.is_numeric() => Ok(t.clone()),
        (Type::Text, t) | (t, Type::Text) if is_temporal(t) => Ok(t.clone()),
        (Type::Date, Type::Timestamp) | (Type::Timestamp, Type::Date) => Ok(Type::Timestamp),
        _ => no(format!("implicit conversion between {a} and {b}")),
    }
}

/// Gives parts of unknown type (bare NULLs above all) the type of what they stand beside.
pub(super) fn adopt(expr: &mut Expr, target: &Type) {
    match expr {
        Expr::Literal(Value::Null, ty @ Type::Unknown) => *ty = target.clone(),
        Expr::Case { branches, otherwise, ty } if *ty == Type::Unknown => {
            *ty = target.clone();
            branches.iter_mut().for_each(|(_, value)| adopt(value, target));
            adopt(otherwise, target);
        }
        Expr::Scalar(plan) if plan.types().first() == Some(&Type::Unknown) => adopt_column(plan, 0, target),
        _ => {}
    }
}

/// Gives column `index` of a plan, if of unknown type, a type.
pub(super) fn adopt_column(plan: &mut Plan, index: usize, target: &Type) {
    match plan {
        Plan::Project { exprs, .. } => adopt(&mut exprs[index], target),
        Plan::Values { types, rows } if types[index] == Type::Unknown => {
            types[index] = target.clone();
            rows.iter_mut().for_each(|row| adopt(&mut row[index], target));
        }
        Plan::SetOp { left, right, types, .. } if types[index] == Type::Unknown => {
            types[index] = target.clone();
            adopt_column(left, index, target);
            adopt_column(right, index, target);
        }
        // A filter or order above would have to change the type of its references too.
        _ => {}
    }
}

/// The type of one of several values. A text beside a date becomes one in some engines and not in others, unless the two
/// are compared.
pub(super) fn common(a: &Type, b: &Type) -> Result<Type> {
    match (a, b) {
        (Type::Text, t) | (t, Type::Text) if is_temporal(t) => no(format!("a {t} or a text")),
        _ => meet(a, b),
    }
}

impl Lowerer<'_> {
    /// A truth value as the number 1 or 0.
    pub(super) fn number(&mut self, truth: Expr) -> Expr {
        self.assumptions.insert(Assumption::BooleanIsOneOrZero);
        match truth {
            Expr::Literal(Value::Bool(b), _) => Expr::int(i64::from(b)),
            Expr::Literal(Value::Null, _) => Expr::null(Type::Integer),
            truth => Expr::Case {
                branches: vec![(truth.clone(), Expr::int(1)), (Expr::Not(Box::new(truth)), Expr::int(0))],
                otherwise: Box::new(Expr::null(Type::Integer)),
                ty: Type::Integer,
            },
        }
    }

    /// A value as a condition.
    pub(super) fn truth(&mut self, mut expr: Expr) -> Result<Expr> {
        match expr.ty() {
            Type::Boolean => Ok(expr),
            ty if ty == Type::Unknown || ty == Type::opaque() => {
                if let Expr::Call { ty, .. } = &mut expr {
                    *ty = Type::Boolean;
                }
                adopt(&mut expr, &Type::Boolean);
                if expr.ty() == Type::Boolean { Ok(expr) } else { no("a condition of unknown type") }
            }
            ty if ty.is_whole() => {
                self.assumptions.insert(Assumption::BooleanIsOneOrZero);
                Ok(match expr {
                    Expr::Literal(n @ (Value::Int(_) | Value::Number(_)), _) => Expr::bool(n != Value::int(0)),
                    expr => Expr::Compare(CompareOp::Ne, Box::new(expr), Box::new(Expr::int(0))),
                })
            }
            other => no(format!("a condition of type {other}")),
        }
    }

    /// A value where the type `target` is expected; the two types [`meet`].
    pub(super) fn convert(&mut self, mut expr: Expr, target: &Type) -> Result<Expr> {
        let ty = expr.ty();
        if let (Some(from), Some(to)) = (ty.as_number(), target.as_number()) {
            if !from.is_rounded_to(to) {
                return Ok(expr);
            }
            // SQLite leaves a whole number beside a double as it is.
            let stays = matches!(&expr, Expr::Literal(value, _) if value.is_null() || literal::is_double(value));
            if from.kinds[Engine::Sqlite as usize] <= Kind::Long && !stays {
                self.assumptions.insert(Assumption::StaticTypes);
            }
            return Ok(rounded(expr, to));
        }
        match (&ty, target) {
            (a, b) if a == b => Ok(expr),
            (Type::Unknown, _) => {
                adopt(&mut expr, target);
                // A column of bare NULLs has a type of its own: a text in PostgreSQL and MariaDB, whole in DuckDB.
                if expr.ty() == Type::Unknown {
                    no(format!("a column of bare NULLs beside a {target}"))
                } else {
                    Ok(expr)
                }
            }
            (Type::Boolean, t) if t.is_numeric() => Ok(self.number(expr)),
            (Type::Date, Type::Moment) => Ok(expr),
            (Type::Text, t) if is_temporal(t) => match &expr {
                Expr::Literal(Value::Text(text), _) => literal::temporal(text, t),
                _ => no(format!("implicit conversion from TEXT to {t}")),
            },
            (Type::Date, Type::Timestamp) => match &expr {
                Expr::Literal(Value::Text(text), _) => literal::temporal(text, &Type::Timestamp),
                Expr::Literal(Value::Null, _) => Ok(Expr::null(Type::Timestamp)),
                _ => no("implicit conversion from DATE to TIMESTAMP"),
            },
            (a, b) => no(format!("implicit conversion from {a} to {b}")),
        }
    }

    /// Both sides in a common type.
    pub(super) fn unify(&mut self, a: Expr, b: Expr) -> Result<(Expr, Expr, Type)> {
        let ty = meet(&a.ty(), &b.ty())?;
        Ok((self.convert(a, &ty)?, self.convert(b, &ty)?, ty))
    }

    /// All values in a common type.
    pub(super) fn unify_all(&mut self, exprs: Vec<Expr>) -> Result<(Vec<Expr>, Type)> {
        let mut ty = Type::Unknown;
        for expr in &exprs {
            ty = common(&ty, &expr.ty())?;
        }
        let exprs = exprs.into_iter().map(|e| self.convert(e, &ty)).collect::<Result<_>>()?;
        Ok((exprs, ty))
    }

    /// A plan whose columns have these types, which each [`meet`] its own.
    pub(super) fn convert_plan(&mut self, mut plan: Plan, targets: &[Type]) -> Result<Plan> {
        for (index, target) in targets.iter().enumerate() {
            if plan.types()[index] == Type::Unknown && *target != Type::Unknown {
                adopt_column(&mut plan, index, target);
            }
        }
        let types = plan.types();
        let fits = |a: &Type, b: &Type| {
            let numbers = a.as_number().zip(b.as_number());
            let stays = numbers.is_some_and(|(a, b)| !a.is_rounded_to(b));
            a == b || *a == Type::Unknown || stays || (a, b) == (&Type::Date, &Type::Moment)
        };
        if types.iter().zip(targets).all(|(a, b)| fits(a, b)) {
            return Ok(plan);
        }
        if let Plan::Project { input, exprs } = plan {
            let exprs = exprs.into_iter().zip(targets).map(|(e, t)| self.convert(e, t)).collect::<Result<_>>()?;
            return Ok(Plan::Project { input, exprs });
        }
        let columns = types.into_iter().enumerate().map(|(index, ty)| Expr::column(index, ty));
        let exprs = columns.zip(targets).map(|(e, t)| self.convert(e, t)).collect::<Result<_>>()?;
        Ok(plan.project(exprs))
    }
}

/// A number that some engine rounds to the nearest double, which may be another one.
fn rounded(expr: Expr, to: Number) -> Expr {
    let ty = to.ty();
    // The literal inside 1e-1, which is rounded as a whole.
    let literal = match &expr {
        Expr::Cast { value, to, .. } if *to == results::with_exponent(false) => value,
        expr => expr,
    };
    match literal {
        Expr::Literal(value, _) if *value == Value::Null => Expr::null(ty),
        // Beside a double every engine reads 0.1 as the nearest double.
        Expr::Literal(value, _) if ty == Type::Double && value.to_double().is_some() => {
            Expr::Literal(Value::Double(value.to_double().unwrap_or_default()), ty)
        }
        Expr::Literal(value, _) if literal::is_double(value) => Expr::Literal(value.clone(), ty),
        _ => {
            let target = ty.to_string().to_lowercase();
            Expr::Cast { value: Box::new(expr), to: ty, target }
        }
    }
}
