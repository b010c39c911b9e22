//! Replies with the same bytes as the previous one. At the boundary of replies, equal bytes are equal replies
//! and need no decoding.

use wire::{Protocol, Reply};

use super::receive::Settler;
use crate::request::Requests;
use crate::route::Route;

impl<P: Protocol, R: Route> Settler<'_, P, R> {
    /// Settles, without decoding, the replies that repeat the `len` bytes at the start of `input`. Returns
    /// their number. Repeats that answer a later batch are left to the next call.
    #[inline]
    pub(super) fn settle_repeats(
        &mut self,
        requests: &mut Requests<R::Mark>,
        reply: Reply<'_>,
        receivers: u32,
        input: &[u8],
        len: usize,
    ) -> usize {
        let most = requests.oldest_mut().map_or(0, |oldest| oldest.left);
        let count = wire::repeats(input, len, most);
        if count > 0
            && let Some((first_byte_ns, request)) = requests.settle_many(count, self.now_ns)
        {
            let answer = self.answer(request, first_byte_ns, reply, 0);
            if receivers > 0 {
                self.recorder.reached(request, u64::from(receivers) * u64::from(count));
            }
            self.recorder.replies(&answer, count, self.now_ns);
            self.complete(request);
            requests.advance_many(count);
        }
        count as usize
    }

    /// Settles the reply in the first `len` bytes of `input`, and without decoding those that repeat it and
    /// answer the same command of a mix. Each ends an operation. Returns their number: 0 if this one is not
    /// the only reply to its request.
    #[inline]
    pub(super) fn settle_alike(
        &mut self,
        requests: &mut Requests<R::Mark>,
        reply: Reply<'_>,
        bytes: u64,
        input: &[u8],
        len: usize,
    ) -> usize {
        let alike = requests.alike();
        if alike == 0 {
            return 0;
        }
        let count = 1 + wire::repeats(input, len, alike - 1);
        let mut left = count;
        while let Some(oldest) = requests.oldest_mut().filter(|_| left > 0) {
            let many = oldest.left.min(left);
            let Some((first_byte_ns, request)) = requests.settle_many(many, self.now_ns) else {
                break;
            };
            request.progress.missed |= reply == Reply::Miss;
            let answer = self.answer(request, first_byte_ns, reply, bytes);
            self.recorder.replies(&answer, many, self.now_ns);
            if !request.progress.is_run {
                self.complete(request);
            }
            requests.advance_many(many);
            left -= many;
        }
        count as usize
    }
}
