//! A run becomes figures, and figures become text.
