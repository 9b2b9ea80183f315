-- Bodies of audit batches are large. LZ4 costs a fraction of the default's time, both ways; a server that was built
-- without it keeps the default.
DO $$
BEGIN
    ALTER TABLE documents ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION
    WHEN feature_not_supported THEN NULL;
END
$$;
