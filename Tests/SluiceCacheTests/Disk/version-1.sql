BEGIN TRANSACTION;
CREATE TABLE entry (
    -- Never used again: a file of this number is this version of the entry, or nothing.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    state INTEGER NOT NULL,
    writer INTEGER,
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    digest BLOB NOT NULL,
    accessed INTEGER NOT NULL,
    status INTEGER NOT NULL,
    requested INTEGER NOT NULL,
    received INTEGER NOT NULL,
    fields TEXT NOT NULL
) STRICT;
INSERT INTO entry VALUES(1,'http://example.test/a',0,NULL,1000,X'04a2a26617da9ddbb0b64cec2b6079d2cd760cf70691de063552c06ea8d153e2',1795440675497632,200,784111777,784111777,replace('Cache-Control:max-age=60\nContent-Length:1000\nDate:Sun, 06 Nov 1994 08:49:37 GMT\n','\n',char(10)));
INSERT INTO entry VALUES(2,'http://example.test/b',0,NULL,1000,X'04a2a26617da9ddbb0b64cec2b6079d2cd760cf70691de063552c06ea8d153e2',1795440675543914,200,784111777,784111777,replace('Cache-Control:max-age=60\nContent-Length:1000\nVary:Accept-Language,  Cookie\nDate:Sun, 06 Nov 1994 08:49:37 GMT\n','\n',char(10)));
INSERT INTO entry VALUES(3,'http://example.test/c',0,NULL,1000,X'04a2a26617da9ddbb0b64cec2b6079d2cd760cf70691de063552c06ea8d153e2',1795440675680380,200,784111777,784111777,replace('Cache-Control:max-age=0\nContent-Length:1000\nETag:"a"\nDate:Sun, 06 Nov 1994 08:49:37 GMT\n','\n',char(10)));
CREATE TABLE usage (bytes INTEGER NOT NULL) STRICT;
INSERT INTO usage VALUES(4536);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('entry',3);
CREATE UNIQUE INDEX entry_ready ON entry(key) WHERE state = 0;
CREATE INDEX entry_accessed ON entry(accessed) WHERE state = 0;
CREATE INDEX entry_unsettled ON entry(writer) WHERE state <> 0;
CREATE TRIGGER entry_added AFTER INSERT ON entry
    BEGIN UPDATE usage SET bytes = bytes + new.bytes + 512; END;
CREATE TRIGGER entry_removed AFTER DELETE ON entry
    BEGIN UPDATE usage SET bytes = bytes - old.bytes - 512; END;
CREATE TRIGGER entry_resized AFTER UPDATE OF bytes ON entry
    BEGIN UPDATE usage SET bytes = bytes - old.bytes + new.bytes; END;
COMMIT;
