-- Timelines of the server that were seen. With each new one every counter jumps, see servers.rs.
CREATE TABLE timelines (
    timeline bigint PRIMARY KEY,
    seen     timestamptz NOT NULL DEFAULT clock_timestamp()
);
