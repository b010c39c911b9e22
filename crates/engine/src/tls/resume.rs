//! Sessions of ended connections, for later ones to resume (`--tls-resume`).
//!
//! Only this file offers sessions to OpenSSL. The `openssl` crate marks that unsafe, as a session may only go
//! to a connection of its own context. Each store belongs to one context, checks every session that comes in or
//! goes out, and lends none.
#![allow(unsafe_code)]

use openssl::error::ErrorStack;
use openssl::ssl::{Ssl, SslContext, SslContextRef, SslRef, SslSession};

use super::TlsContext;
use crate::ConnId;

pub(super) struct Sessions {
    context: SslContext,
    /// The last session of each connection.
    by_connection: Vec<Option<SslSession>>,
    /// The last session of all, for connections that have had none.
    latest: Option<SslSession>,
}

impl Sessions {
    /// An empty store for connections of this context.
    pub(super) fn new(context: &TlsContext) -> Self {
        Self { context: context.openssl().clone(), by_connection: Vec::new(), latest: None }
    }

    /// Keeps the session of a connection that is about to end.
    pub(super) fn keep(&mut self, conn: ConnId, ssl: &SslRef) {
        let Some(session) = ssl.session().filter(|_| self.is_ours(ssl)) else {
            return;
        };
        let index = conn.0 as usize;
        if self.by_connection.len() <= index {
            self.by_connection.resize_with(index + 1, || None);
        }
        self.by_connection[index] = Some(session.to_owned());
        self.latest = Some(session.to_owned());
    }

    /// Offers an earlier session to a connection that has not begun.
    pub(super) fn offer(&self, conn: ConnId, ssl: &mut Ssl) -> Result<(), ErrorStack> {
        let own = self.by_connection.get(conn.0 as usize).and_then(Option::as_ref);
        match own.or(self.latest.as_ref()) {
            Some(session) if self.is_ours(ssl) => {
                // SAFETY: `keep` takes sessions only of connections of `self.context`, and `ssl`
                // is of that context too: `is_ours` was asked both times.
                unsafe { ssl.set_session(session) }
            }
            _ => Ok(()),
        }
    }

    fn is_ours(&self, ssl: &SslRef) -> bool {
        std::ptr::eq::<SslContextRef>(ssl.ssl_context(), &*self.context)
    }
}
