//! A page of saved runs.
