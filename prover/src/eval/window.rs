//! Window functions.

use std::collections::BTreeMap;

use crate::ir::frame::{Bound, Frame};
use crate::ir::{AggregateFunction, ArithmeticOp, Type, Value, WindowFunction};

use super::aggregate::{count, skips_null};
use super::code::{Code, Domain, SortKey};
use super::machine::{Cells, Env, Machine, compare_keys};
use super::{EvalError, Row, number};

/// A prepared window function.
#[derive(Debug)]
pub(super) struct WindowCode {
    function: Function,
    args: Vec<Code>,
    partition: Vec<Code>,
    order: Vec<SortKey>,
    frame: Frame,
    ty: Type,
}

#[derive(Debug)]
enum Function {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    /// LAG, or LEAD when forward.
    Offset {
        forward: bool,
    },
    First,
    Last,
    Nth,
    Aggregate(AggregateFunction),
}

impl WindowCode {
    pub(super) fn new(
        window: &WindowFunction,
        args: Vec<Code>,
        partition: Vec<Code>,
        order: Vec<SortKey>,
    ) -> Result<Self, EvalError> {
        let function = match window.name.as_str() {
            "row_number" => Function::RowNumber,
            "rank" => Function::Rank,
            "dense_rank" => Function::DenseRank,
            "percent_rank" => Function::PercentRank,
            "cume_dist" => Function::CumeDist,
            "ntile" => Function::Ntile,
            "lag" => Function::Offset { forward: false },
            "lead" => Function::Offset { forward: true },
            "first_value" => Function::First,
            "last_value" => Function::Last,
            "nth_value" => Function::Nth,
            "count" if args.is_empty() => Function::Aggregate(AggregateFunction::CountStar),
            "count" => Function::Aggregate(AggregateFunction::Count),
            "sum" => Function::Aggregate(AggregateFunction::Sum),
            "min" => Function::Aggregate(AggregateFunction::Min),
            "max" => Function::Aggregate(AggregateFunction::Max),
            "avg" => Function::Aggregate(AggregateFunction::Avg),
            name => Function::Aggregate(AggregateFunction::Other(name.to_owned())),
        };
        let needed = match &function {
            Function::Ntile | Function::Offset { .. } | Function::First | Function::Last => 1,
            Function::Nth => 2,
            _ => 0,
        };
        if args.len() < needed {
            return Err(EvalError::Unsupported(format!("{} without arguments", window.name)));
        }
        let frame = match &window.frame {
            Some(text) => Frame::parse(text).ok_or_else(|| EvalError::Unsupported(format!("the frame {text}")))?,
            None if order.is_empty() => Frame { rows: false, start: Bound::Unbounded, end: Bound::Unbounded },
            None => Frame { rows: false, start: Bound::Unbounded, end: Bound::Current },
        };
        let offsets = [&frame.start, &frame.end].iter().any(|b| matches!(b, Bound::Preceding(_) | Bound::Following(_)));
        if !frame.rows && offsets && order.len() != 1 {
            return Err(EvalError::Unsupported("a RANGE distance without exactly one order key".to_owned()));
        }
        Ok(Self { function, args, partition, order, frame, ty: window.ty.clone() })
    }
}

/// The rows of one partition in window order.
struct Partition<'a> {
    rows: Vec<Item<'a>>,
    /// For each position, the range of its peers.
    peers: Vec<(usize, usize)>,
}

struct Item<'a> {
    /// Position in the input.
    number: usize,
    row: &'a Row,
    key: Row,
    args: Row,
}

impl<'a> Partition<'a> {
    fn new(mut rows: Vec<Item<'a>>, order: &[SortKey]) -> Self {
        rows.sort_by(|a, b| compare_keys(order, &a.key, &b.key));
        let mut peers = Vec::with_capacity(rows.len());
        for group in rows.chunk_by(|a, b| a.key == b.key) {
            let start = peers.len();
            peers.extend(group.iter().map(|_| (start, start + group.len())));
        }
        Self { rows, peers }
    }

    /// Fails if rows that differ tie, so that their positions are open.
    fn check_ties(&self) -> Result<(), EvalError> {
        let differ = |(at, (start, _)): (usize, &(usize, usize))| self.rows[at].row != self.rows[*start].row;
        if self.peers.iter().enumerate().any(differ) { Err(ties()) } else { Ok(()) }
    }

    /// The first argument at a position, which must be the same for all peers unless positions are known to be fixed.
    fn pick(&self, at: usize, fixed: bool) -> Result<Value, EvalError> {
        let (start, end) = self.peers[at];
        let value = &self.rows[at].args[0];
        if !fixed && self.rows[start..end].iter().any(|item| item.args[0] != *value) {
            return Err(ties());
        }
        Ok(value.clone())
    }

    /// The half-open range of positions in the frame of a position.
    fn frame(&self, frame: &Frame, order: &[SortKey], at: usize) -> Result<(usize, usize), EvalError> {
        let len = self.rows.len();
        let start = match &frame.start {
            Bound::Unbounded => 0,
            bound if frame.rows => shifted(at, bound, len),
            Bound::Current => self.peers[at].0,
            bound => self.range_bound(order, at, bound, true)?,
        };
        let end = match &frame.end {
            Bound::Unbounded => len,
            // The position after the last row of the frame.
            bound if frame.rows => shifted(at + 1, bound, len),
            Bound::Current => self.peers[at].1,
            bound => self.range_bound(order, at, bound, false)?,
        };
        Ok((start, end.max(start)))
    }

    /// The first position whose key is not before (`start`) or the first that is after the key of `at` moved by the
    /// distance. NULL keys are only near each other.
    fn range_bound(&self, order: &[SortKey], at: usize, bound: &Bound, start: bool) -> Result<usize, EvalError> {
        let key = &self.rows[at].key[0];
        if key.is_null() {
            return Ok(if start { self.peers[at].0 } else { self.peers[at].1 });
        }
        let distance = match bound {
            Bound::Preceding(n) => -n,
            Bound::Following(n) => *n,
            Bound::Unbounded | Bound::Current => 0,
        };
        let distance = if order[0].descending { -distance } else { distance };
        let limit = number::arithmetic(ArithmeticOp::Add, Domain::Exact, key, &Value::Int(distance))?;
        let inside = |item: &Item<'_>| {
            let side = compare_keys(order, &item.key, std::slice::from_ref(&limit));
            if start { side.is_ge() } else { side.is_le() }
        };
        let not_null = |item: &Item<'_>| !item.key[0].is_null();
        // Where no row is inside, the frame ends, or begins, between those with a key and those without.
        Ok(if start {
            let behind = || self.rows.iter().rposition(not_null).map_or(0, |last| last + 1);
            self.rows.iter().position(|i| not_null(i) && inside(i)).unwrap_or_else(behind)
        } else {
            let first = || self.rows.iter().position(not_null).unwrap_or(0);
            self.rows.iter().rposition(|i| not_null(i) && inside(i)).map_or_else(first, |last| last + 1)
        })
    }
}

fn ties() -> EvalError {
    EvalError::NotDeterministic("rows that differ tie in the order of a window".to_owned())
}

fn shifted(at: usize, bound: &Bound, len: usize) -> usize {
    let moved = match bound {
        Bound::Preceding(n) => at.saturating_sub(usize::try_from(*n).unwrap_or(usize::MAX)),
        Bound::Following(n) => at.saturating_add(usize::try_from(*n).unwrap_or(usize::MAX)),
        Bound::Unbounded | Bound::Current => at,
    };
    moved.min(len)
}

impl Machine<'_> {
    /// The value of a window function for each row.
    pub(super) fn window(
        &self,
        window: &WindowCode,
        rows: &[Row],
        env: Option<&Env<'_>>,
    ) -> Result<Vec<Value>, EvalError> {
        let mut partitions: BTreeMap<Row, Vec<Item<'_>>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            self.spend()?;
            let here = Env { cells: Cells::Values(row), outer: env };
            let key: Result<Row, EvalError> =
                window.order.iter().map(|k| Ok(self.value(&k.code, &here)?.into_owned())).collect();
            let item = Item { number, row, key: key?, args: self.values(&window.args, &here)? };
            partitions.entry(self.values(&window.partition, &here)?).or_default().push(item);
        }
        let mut column = vec![Value::Null; rows.len()];
        for items in partitions.into_values() {
            let partition = Partition::new(items, &window.order);
            let whole = window.frame.start == Bound::Unbounded && window.frame.end == Bound::Unbounded;
            let by_position = match window.function {
                Function::RowNumber | Function::Ntile | Function::Offset { .. } => true,
                Function::Rank | Function::DenseRank | Function::PercentRank | Function::CumeDist => false,
                _ => window.frame.rows && !whole,
            };
            if by_position {
                partition.check_ties()?;
            }
            if !(whole && matches!(window.function, Function::Aggregate(_))) {
                self.note_nulls(&window.order, &partition.rows, |item| &item.key);
            }
            for at in 0..partition.rows.len() {
                self.spend()?;
                column[partition.rows[at].number] = self.window_value(window, &partition, at, by_position)?;
            }
        }
        Ok(column)
    }

    fn window_value(
        &self,
        window: &WindowCode,
        partition: &Partition<'_>,
        at: usize,
        fixed: bool,
    ) -> Result<Value, EvalError> {
        let len = partition.rows.len();
        let (peer_start, peer_end) = partition.peers[at];
        let args = &partition.rows[at].args;
        let share = |part: usize, of: usize| {
            let quotient = number::arithmetic(ArithmeticOp::Div, Domain::Double, &count(part), &count(of));
            quotient.or(Ok(Value::Double(0.0)))
        };
        match &window.function {
            Function::RowNumber => Ok(count(at + 1)),
            Function::Rank => Ok(count(peer_start + 1)),
            Function::DenseRank => {
                let groups = partition.peers[..=at].chunk_by(|a, b| a == b).count();
                Ok(count(groups))
            }
            Function::PercentRank => share(peer_start, len - 1),
            Function::CumeDist => share(peer_end, len),
            Function::Ntile => {
                let buckets = match args[0] {
                    Value::Null => return Ok(Value::Null),
                    Value::Int(n) if n > 0 => usize::try_from(n).unwrap_or(usize::MAX),
                    _ => return Err(EvalError::Unsupported("a number of buckets that is not positive".to_owned())),
                };
                // The first `longer` buckets have one row more.
                let (size, longer) = (len / buckets, len % buckets);
                let in_longer = longer * (size + 1);
                let bucket = if at < in_longer { at / (size + 1) } else { longer + (at - in_longer) / size.max(1) };
                Ok(count(bucket + 1))
            }
            Function::Offset { forward } => {
                let distance = match args.get(1) {
                    None => 1,
                    Some(Value::Int(n)) if *n >= 0 => usize::try_from(*n).unwrap_or(usize::MAX),
                    Some(Value::Null) => return Ok(Value::Null),
                    Some(_) => return Err(EvalError::Unsupported("a distance that is not a count".to_owned())),
                };
                let other = if *forward { at.checked_add(distance) } else { at.checked_sub(distance) };
                match other.filter(|other| *other < len) {
                    Some(other) => partition.pick(other, fixed),
                    None => Ok(args.get(2).cloned().unwrap_or(Value::Null)),
                }
            }
            function => {
                let (start, end) = partition.frame(&window.frame, &window.order, at)?;
                match function {
                    Function::Aggregate(function) => {
                        self.aggregate_frame(window, function, &partition.rows[start..end])
                    }
                    _ if start == end => Ok(Value::Null),
                    Function::First => partition.pick(start, fixed),
                    Function::Last => partition.pick(end - 1, fixed),
                    _ => {
                        let nth = match args[1] {
                            Value::Int(n) if n > 0 => usize::try_from(n - 1).unwrap_or(usize::MAX),
                            Value::Null => return Ok(Value::Null),
                            _ => return Err(EvalError::Unsupported("a position that is not positive".to_owned())),
                        };
                        match start.checked_add(nth).filter(|p| *p < end) {
                            Some(position) => partition.pick(position, fixed),
                            None => Ok(Value::Null),
                        }
                    }
                }
            }
        }
    }

    fn aggregate_frame(
        &self,
        window: &WindowCode,
        function: &AggregateFunction,
        frame: &[Item<'_>],
    ) -> Result<Value, EvalError> {
        let mut values = Vec::with_capacity(frame.len());
        for item in frame {
            self.spend()?;
            if item.args.is_empty() {
                values.push(Value::Int(1));
            } else if !skips_null(function) || !item.args.iter().any(Value::is_null) {
                values.extend(item.args.iter().cloned());
            }
        }
        self.finish(function, false, window.args.len(), values, &window.ty)
    }
}
