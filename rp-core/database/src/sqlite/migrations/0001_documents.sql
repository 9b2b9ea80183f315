-- One table for every collection. A row without a body is a tombstone.
CREATE TABLE documents (
    collection TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    partition  TEXT    NOT NULL,
    unique_key TEXT,
    body       TEXT,
    version    INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    written    INTEGER NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (collection, id)
) STRICT;

CREATE UNIQUE INDEX documents_key ON documents (collection, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX documents_list ON documents (collection, partition, id, expires_at) WHERE body IS NOT NULL;
CREATE UNIQUE INDEX documents_feed ON documents (collection, seq);
CREATE INDEX documents_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX documents_tombstones ON documents (written) WHERE body IS NULL;

-- The last position given in the change feed. Kept apart, for tombstones are dropped in the end.
CREATE TABLE counter (seq INTEGER NOT NULL) STRICT;
INSERT INTO counter (seq) VALUES (0);

PRAGMA user_version = 1;
