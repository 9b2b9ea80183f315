//! What every backend must do (`spec/database.md` §13.7).
