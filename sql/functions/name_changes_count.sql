-- Trigger: counts the statements that rename or delete traits or resource classes, so that servers know when the
-- ids that they remember are no longer those of the names.
--
-- Locks: the only row of name_changes, until the transaction ends; it is the last lock of the functions that
-- delete and rename.
CREATE OR REPLACE FUNCTION name_changes_count() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE /* name_changes_count 1/1 */ name_changes SET changes = changes + 1;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER traits_renamed AFTER UPDATE OF name ON traits
FOR EACH STATEMENT EXECUTE FUNCTION name_changes_count();
CREATE OR REPLACE TRIGGER traits_deleted AFTER DELETE ON traits
FOR EACH STATEMENT EXECUTE FUNCTION name_changes_count();
CREATE OR REPLACE TRIGGER resource_classes_renamed AFTER UPDATE OF name ON resource_classes
FOR EACH STATEMENT EXECUTE FUNCTION name_changes_count();
CREATE OR REPLACE TRIGGER resource_classes_deleted AFTER DELETE ON resource_classes
FOR EACH STATEMENT EXECUTE FUNCTION name_changes_count();
