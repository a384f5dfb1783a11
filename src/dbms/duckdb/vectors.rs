//! Rows of results, read from the engine's vectors.
//!
//! The engine's functions that read one cell know no lists, structs, ENUMs and UUIDs, and take some of them for NULL. The
//! layout of vectors is that of <https://duckdb.org/docs/stable/clients/c/vector>. Dates, times and numbers are written as
//! the engine casts them to text.

use super::api::{Api, Date, LogicalType, QueryResult, Time, Vector};
use crate::compare::Row;
use crate::dbms::{EngineError, ErrorClass, number};
use crate::sql::types::Value;
use std::ffi::{CStr, c_int};
use std::fmt::Write as _;

/// Bytes of a nested value's text, about.
const BYTES_MAX: usize = 1_000_000;

/// All rows of a result.
///
/// # Safety
/// The result is of a query that succeeded.
pub(super) unsafe fn rows(api: &Api, result: &mut QueryResult) -> Result<Vec<Row>, EngineError> {
    let mut rows = Vec::new();
    // SAFETY: the caller's promise; each chunk is destroyed after its rows were copied.
    unsafe {
        let columns = (api.column_count)(result);
        loop {
            let mut chunk = (api.fetch_chunk)(result.by_value());
            if chunk.is_null() {
                return Ok(rows);
            }
            let vectors: Vec<Reader> =
                (0..columns).map(|column| Reader::new(api, (api.chunk_vector)(chunk, column))).collect();
            let read = (0..(api.chunk_size)(chunk)).map(|row| vectors.iter().map(|v| v.value(row)).collect());
            let read = read.collect::<Result<Vec<Row>, EngineError>>();
            drop(vectors);
            (api.destroy_chunk)(&raw mut chunk);
            rows.extend(read?);
        }
    }
}

/// A vector with its type.
struct Reader<'a> {
    api: &'a Api,
    vector: Vector,
    ty: LogicalType,
    kind: c_int,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // SAFETY: the type was made for this reader.
        unsafe { (self.api.destroy_logical_type)(&raw mut self.ty) };
    }
}

impl<'a> Reader<'a> {
    /// # Safety
    /// The vector is of a chunk that is not destroyed before the reader.
    unsafe fn new(api: &'a Api, vector: Vector) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let ty = (api.vector_type)(vector);
            Self { api, vector, ty, kind: (api.type_id)(ty) }
        }
    }

    /// The cell of a row.
    ///
    /// # Safety
    /// The vector has such a row.
    unsafe fn value(&self, row: u64) -> Result<Value, EngineError> {
        // SAFETY: the caller's promise, and the layouts of duckdb.h.
        unsafe {
            if !self.is_valid(row) {
                return Ok(Value::Null);
            }
            Ok(match self.kind {
                1 => Value::Bool(self.at::<u8>(row) != 0),
                2..=5 => Value::Int(self.integer(self.kind, row)),
                6 => Value::Int(self.at::<u8>(row).into()),
                7 => Value::Int(self.at::<u16>(row).into()),
                8 => Value::Int(self.at::<u32>(row).into()),
                10 => Value::Real(self.at::<f32>(row).into()),
                11 => Value::Real(self.at(row)),
                // UBIGINT, HUGEINT, DECIMAL, UHUGEINT
                9 | 16 | 19 | 32 => number(&self.digits(row)),
                17 => Value::Text(self.bytes(row)),
                18 => Value::Blob(self.bytes(row)),
                _ => {
                    let mut text = String::new();
                    self.write(row, &mut text)?;
                    Value::Text(text.into_bytes())
                }
            })
        }
    }

    /// Appends a cell as a text that is another one for every other value.
    unsafe fn write(&self, row: u64, out: &mut String) -> Result<(), EngineError> {
        // SAFETY: as above; children of a vector have the rows that its entries name.
        unsafe {
            if !self.is_valid(row) {
                out.push_str("NULL");
                return Ok(());
            }
            // Writing to a string cannot fail.
            let _ = match self.kind {
                1..=8 | 17 | 18 => write!(out, "{}", self.value(row)?),
                // -0.0 equals 0.0.
                10 => write!(out, "{:?}", f64::from(self.at::<f32>(row)) + 0.0),
                11 => write!(out, "{:?}", self.at::<f64>(row) + 0.0),
                9 | 16 | 19 | 32 => {
                    // Equal decimals of two scales have one text.
                    let digits = self.digits(row);
                    let short = if digits.contains('.') { digits.trim_end_matches('0') } else { &digits };
                    out.push_str(short.trim_end_matches('.'));
                    Ok(())
                }
                13 => {
                    self.write_date(self.at(row), out);
                    Ok(())
                }
                14 => {
                    self.write_time(self.at(row), 0, out);
                    Ok(())
                }
                // TIMESTAMP, _S, _MS, _NS, and with time zone
                12 | 20..=22 | 31 => {
                    self.write_timestamp(self.at(row), out);
                    Ok(())
                }
                15 => {
                    let [months, days] = self.at::<[i32; 4]>(row).first_chunk().copied().unwrap_or_default();
                    let [_, micros] = self.at::<[i64; 2]>(row);
                    write_interval(months, days, micros, out);
                    Ok(())
                }
                // The first bit is turned, so that UUIDs sort as numbers do.
                27 => {
                    let hex = format!("{:032x}", u128::from_le_bytes(self.at(row)) ^ (1 << 127));
                    write!(out, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
                }
                // TIMETZ
                30 => write!(out, "{}", self.at::<u64>(row)),
                23 => {
                    let at = match (self.api.enum_internal_type)(self.ty) {
                        6 => self.at::<u8>(row).into(),
                        7 => self.at::<u16>(row).into(),
                        _ => self.at::<u32>(row),
                    };
                    let text = (self.api.enum_text)(self.ty, at.into());
                    if !text.is_null() {
                        out.push_str(&CStr::from_ptr(text).to_string_lossy());
                        (self.api.free)(text.cast());
                    }
                    Ok(())
                }
                // LIST, and MAP, which is a list of keys with values
                24 | 26 => {
                    let [offset, length] = self.at::<[u64; 2]>(row);
                    let child = Reader::new(self.api, (self.api.list_child)(self.vector));
                    return child.write_all(offset..offset + length, out);
                }
                33 => {
                    let size = (self.api.array_size)(self.ty);
                    let child = Reader::new(self.api, (self.api.array_child)(self.vector));
                    return child.write_all(row * size..(row + 1) * size, out);
                }
                25 => {
                    out.push('{');
                    for child in 0..(self.api.struct_child_count)(self.ty) {
                        if child > 0 {
                            out.push_str(", ");
                        }
                        self.child(child).write(row, out)?;
                    }
                    out.push('}');
                    Ok(())
                }
                // UNION: the tag, and the member it names
                28 => {
                    let tag = self.child(0).at::<u8>(row);
                    let _ = write!(out, "{tag}:");
                    return self.child(u64::from(tag) + 1).write(row, out);
                }
                29 => write!(out, "{}", Value::Blob(self.bytes(row))),
                other => {
                    let message = format!("the client does not read values of type {other}");
                    return Err(EngineError::new(ErrorClass::Unsupported, message));
                }
            };
            Ok(())
        }
    }

    /// An exact number.
    unsafe fn digits(&self, row: u64) -> String {
        // SAFETY: as above.
        unsafe {
            let (unscaled, scale) = match self.kind {
                9 => (self.at::<u64>(row).into(), 0),
                32 => return u128::from_le_bytes(self.at(row)).to_string(),
                16 => (i128::from_le_bytes(self.at(row)), 0),
                _ => {
                    let unscaled = match (self.api.decimal_internal_type)(self.ty) {
                        16 => i128::from_le_bytes(self.at(row)),
                        kind => self.integer(kind, row).into(),
                    };
                    (unscaled, usize::from((self.api.decimal_scale)(self.ty)))
                }
            };
            let mut digits = format!("{:0width$}", unscaled.unsigned_abs(), width = scale + 1);
            if scale > 0 {
                digits.insert(digits.len() - scale, '.');
            }
            if unscaled < 0 { format!("-{digits}") } else { digits }
        }
    }

    /// So many days after 1970-01-01.
    unsafe fn write_date(&self, days: i32, out: &mut String) {
        if days.unsigned_abs() == i32::MAX.unsigned_abs() {
            out.push_str(if days < 0 { "-infinity" } else { "infinity" });
            return;
        }
        // SAFETY: a function of the number.
        let Date { year, month, day } = unsafe { (self.api.from_date)(days) };
        let (year, era) = if year > 0 { (year, "") } else { (1 - year, " (BC)") };
        let _ = write!(out, "{year:04}-{month:02}-{day:02}{era}");
    }

    /// So many microseconds, and nanoseconds, after midnight.
    unsafe fn write_time(&self, micros: i64, nanos: i64, out: &mut String) {
        // SAFETY: a function of the number.
        let Time { hour, minute, second, micros } = unsafe { (self.api.from_time)(micros) };
        let _ = write!(out, "{hour:02}:{minute:02}:{second:02}");
        let fraction = format!(".{micros:06}{nanos:03}");
        out.push_str(fraction.trim_end_matches('0').trim_end_matches('.'));
    }

    /// So many units of the vector's type after 1970-01-01.
    unsafe fn write_timestamp(&self, units: i64, out: &mut String) {
        const DAY: i128 = 86_400_000_000_000;
        if units.unsigned_abs() == i64::MAX.unsigned_abs() {
            out.push_str(if units < 0 { "-infinity" } else { "infinity" });
            return;
        }
        let nanos = i128::from(units)
            * match self.kind {
                20 => 1_000_000_000,
                21 => 1_000_000,
                22 => 1,
                _ => 1_000,
            };
        let (days, rest) = (nanos.div_euclid(DAY), i64::try_from(nanos.rem_euclid(DAY)).unwrap_or_default());
        // SAFETY: functions of numbers.
        unsafe {
            self.write_date(i32::try_from(days).unwrap_or(i32::MAX), out);
            out.push(' ');
            self.write_time(rest / 1000, rest % 1000, out);
        }
        // An instant, whatever the time zone of the session.
        out.push_str(if self.kind == 31 { "+00" } else { "" });
    }

    unsafe fn write_all(&self, rows: std::ops::Range<u64>, out: &mut String) -> Result<(), EngineError> {
        out.push('[');
        for row in rows.clone() {
            if row > rows.start {
                out.push_str(", ");
            }
            if out.len() > BYTES_MAX {
                return Err(EngineError::new(ErrorClass::Limit, "a value is too long"));
            }
            // SAFETY: the caller names rows of this vector.
            unsafe { self.write(row, out)? };
        }
        out.push(']');
        Ok(())
    }

    unsafe fn child(&self, child: u64) -> Reader<'a> {
        // SAFETY: the caller names a child of a struct or union.
        unsafe { Reader::new(self.api, (self.api.struct_child)(self.vector, child)) }
    }

    unsafe fn is_valid(&self, row: u64) -> bool {
        // SAFETY: the mask, where there is one, has a bit for every row.
        unsafe {
            let mask = (self.api.vector_validity)(self.vector);
            mask.is_null() || *mask.add(index(row / 64)) >> (row % 64) & 1 == 1
        }
    }

    /// The number at a row, of the vector's physical type.
    unsafe fn integer(&self, kind: c_int, row: u64) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match kind {
                2 => self.at::<i8>(row).into(),
                3 => self.at::<i16>(row).into(),
                4 => self.at::<i32>(row).into(),
                _ => self.at::<i64>(row),
            }
        }
    }

    unsafe fn at<T: Copy>(&self, row: u64) -> T {
        // SAFETY: the vector's data are values of this size, one for each row; they need not be aligned for `T`.
        unsafe { (self.api.vector_data)(self.vector).cast::<T>().add(index(row)).read_unaligned() }
    }

    /// The bytes of a text: within its 16 bytes if there are at most 12, behind a pointer otherwise.
    unsafe fn bytes(&self, row: u64) -> Vec<u8> {
        // SAFETY: the layout of `duckdb_string_t` (duckdb.h).
        unsafe {
            let place = (self.api.vector_data)(self.vector).cast::<[u8; 16]>().add(index(row)).cast::<u8>();
            let length = index(place.cast::<u32>().read_unaligned().into());
            let data = if length <= 12 { place.add(4) } else { place.add(8).cast::<*const u8>().read_unaligned() };
            std::slice::from_raw_parts(data, length).to_vec()
        }
    }
}

/// An interval as the engine writes it: in years, months, days, and a time.
fn write_interval(months: i32, days: i32, micros: i64, out: &mut String) {
    let mut parts = Vec::new();
    for (number, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        match number {
            0 => {}
            1 | -1 => parts.push(format!("{number} {unit}")),
            _ => parts.push(format!("{number} {unit}s")),
        }
    }
    if micros != 0 || parts.is_empty() {
        let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
        let (seconds, fraction) = (micros / 1_000_000, format!(".{:06}", micros % 1_000_000));
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
        parts.push(format!("{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"));
    }
    out.push_str(&parts.join(" "));
}

fn index(row: u64) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}
