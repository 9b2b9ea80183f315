-- One table for every collection. A row without a body is a tombstone. Texts are compared by their bytes.
CREATE TABLE documents (
    collection text   COLLATE "C" NOT NULL,
    id         text   COLLATE "C" NOT NULL,
    partition  text   COLLATE "C" NOT NULL,
    unique_key text   COLLATE "C",
    body       text   COLLATE "C",
    version    bigint NOT NULL,
    seq        bigint NOT NULL,
    written    bigint NOT NULL,
    expires_at bigint,
    PRIMARY KEY (collection, id)
);

CREATE UNIQUE INDEX documents_key ON documents (collection, unique_key) WHERE unique_key IS NOT NULL;
CREATE INDEX documents_list ON documents (collection, partition, id) WHERE body IS NOT NULL;
CREATE UNIQUE INDEX documents_feed ON documents (collection, seq);
CREATE INDEX documents_expiry ON documents (collection, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX documents_tombstones ON documents (collection, written) WHERE body IS NULL;

-- The last position given in the change feed of each collection. Its row is locked until the writer commits.
CREATE TABLE counters (
    collection text   COLLATE "C" PRIMARY KEY,
    seq        bigint NOT NULL
) WITH (fillfactor = 20);
