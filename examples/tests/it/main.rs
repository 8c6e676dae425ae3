//! The examples as their users run them: the built programs, real files, real signals.

mod access_log;
mod kills;
mod mistakes;
mod small;
mod tool;
