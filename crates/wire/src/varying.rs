//! Parts that vary in length between requests: their length in one request, and their bytes.

use workload::Dataset;

use crate::decimal::{append_decimal, decimal_width};
use crate::numbers::Numbers;
use crate::payload::{LastDraw, Payload, Value};
use crate::{Insert, RequestInputs, ValueAt};

/// Token used if no reply brought one; no item has it.
const NO_CAS: u64 = u64::MAX;

/// The varying parts of one request.
pub(crate) struct RequestVariables<'b> {
    request: RequestInputs<'b>,
    numbers: &'b Numbers,
    dataset: Option<&'b Dataset>,
    payload: Option<&'b Payload>,
    pub(crate) drawn: LastDraw,
    /// The value whose length was written last; its bytes come next.
    last: Option<(ValueAt, Value)>,
}

impl<'b> RequestVariables<'b> {
    /// Prepares a request with these sources of numbers, rows and values.
    #[inline]
    pub(crate) fn new(
        request: RequestInputs<'b>,
        numbers: &'b Numbers,
        dataset: Option<&'b Dataset>,
        payload: Option<&'b Payload>,
    ) -> Self {
        Self { request, numbers, dataset, payload, drawn: LastDraw::default(), last: None }
    }

    #[inline]
    pub(crate) fn append(&mut self, insert: &Insert, out: &mut Vec<u8>) {
        let Self { request, numbers, .. } = *self;
        match insert {
            Insert::Cell { column } => out.extend_from_slice(self.cell(*column)),
            Insert::Value(at) => {
                let value = self.value(at);
                if let Some(payload) = self.payload {
                    payload.append(value, out);
                }
            }
            Insert::Lifetime(lifetime) => {
                append_decimal(lifetime.seconds(numbers.seed, request.number), out);
            }
            Insert::Number(at) => {
                append_decimal(self.drawn.number(numbers, request, at.slot, at.fresh), out);
            }
            Insert::Derived(derived) => {
                derived.append(self.drawn.source(derived, numbers, request), out);
            }
            Insert::Reply(or) => out.extend_from_slice(request.replied.value.unwrap_or(or)),
            Insert::Cas(form) => form.write(request.replied.cas.unwrap_or(NO_CAS), out),
            Insert::Length { form, fixed, varying } => {
                let mut length = *fixed;
                for insert in varying {
                    length += self.len(insert);
                }
                form.write(length as u64, out);
            }
        }
    }

    /// Bytes of an insert, if lengths include it.
    #[inline]
    fn len(&mut self, insert: &Insert) -> usize {
        let Self { request, numbers, .. } = *self;
        match insert {
            Insert::Cell { column } => self.cell(*column).len(),
            Insert::Value(at) => self.value(at).len,
            Insert::Lifetime(lifetime) => {
                decimal_width(lifetime.seconds(numbers.seed, request.number))
            }
            Insert::Number(at) => {
                decimal_width(self.drawn.number(numbers, request, at.slot, at.fresh))
            }
            Insert::Derived(derived) => derived.len(self.drawn.source(derived, numbers, request)),
            Insert::Reply(or) => request.replied.value.unwrap_or(or).len(),
            Insert::Cas(_) | Insert::Length { .. } => 0,
        }
    }

    /// The cell of the request's row.
    fn cell(&mut self, column: usize) -> &'b [u8] {
        let Some(dataset) = self.dataset else { return &[] };
        dataset.cell(self.drawn.row(self.numbers, self.request, dataset), column)
    }

    fn value(&mut self, at: &ValueAt) -> Value {
        match (self.payload, self.last) {
            (_, Some((of, value))) if of == *at => value,
            (Some(payload), _) => {
                let value = payload.value(at, self.request, self.numbers, &mut self.drawn);
                self.last = Some((*at, value));
                value
            }
            (None, _) => Value { key: 0, len: 0 },
        }
    }
}
