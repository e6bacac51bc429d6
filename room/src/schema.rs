//! Schema: to come with the next commit.
