//! Results with nested values, read from the engine's vectors.
//!
//! The functions that read one cell know no lists, structs, maps, arrays and unions: of such a column they give empty
//! texts, and nothing of the columns behind it. The layout of vectors is that of
//! <https://duckdb.org/docs/stable/clients/c/vector>.

use super::api::{Api, LogicalType, QueryResult, Vector};
use crate::compare::Row;
use crate::dbms::{EngineError, ErrorClass};
use crate::sql::types::Value;
use std::ffi::c_int;
use std::fmt::Write as _;

/// Bytes of a nested value's text, about.
const BYTES_MAX: usize = 1_000_000;

/// Whether cells of a type, by its number in `duckdb_type` (duckdb.h), can be read one by one. ENUM, UUID and
/// the timestamps of other units and with a time zone cannot: such a cell seems to be NULL, or reading it ends the process.
pub(super) fn is_plain(kind: c_int) -> bool {
    matches!(kind, 1..=19 | 32)
}

/// All rows of a result, no cell of which was read.
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
                9 | 30 => write!(out, "{}", self.at::<u64>(row)),
                // Dates and times as numbers of their units.
                13 => write!(out, "{}", self.at::<i32>(row)),
                12 | 14 | 20..=22 | 31 => write!(out, "{}", self.at::<i64>(row)),
                15 => {
                    let [months_and_days, micros] = self.at::<[i64; 2]>(row);
                    write!(out, "{months_and_days}:{micros}")
                }
                16 | 27 => write!(out, "{}", i128::from_le_bytes(self.at(row))),
                32 => write!(out, "{}", u128::from_le_bytes(self.at(row))),
                19 => {
                    let unscaled = match (self.api.decimal_internal_type)(self.ty) {
                        16 => i128::from_le_bytes(self.at(row)),
                        kind => self.integer(kind, row).into(),
                    };
                    write!(out, "{unscaled}e-{}", (self.api.decimal_scale)(self.ty))
                }
                23 => match (self.api.enum_internal_type)(self.ty) {
                    6 => write!(out, "{}", self.at::<u8>(row)),
                    7 => write!(out, "{}", self.at::<u16>(row)),
                    _ => write!(out, "{}", self.at::<u32>(row)),
                },
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

fn index(row: u64) -> usize {
    usize::try_from(row).unwrap_or(usize::MAX)
}
