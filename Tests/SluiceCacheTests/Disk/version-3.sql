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
, variant TEXT NOT NULL DEFAULT '', body BLOB) STRICT;
INSERT INTO "entry" VALUES(1,'http://example.test/a',0,NULL,1000,X'04A2A26617DA9DDBB0B64CEC2B6079D2CD760CF70691DE063552C06EA8D153E2',1795440675497632,200,784111777,784111777,'Cache-Control:max-age=60
Content-Length:1000
Date:Sun, 06 Nov 1994 08:49:37 GMT
','',NULL);
INSERT INTO "entry" VALUES(2,'http://example.test/b',0,NULL,1000,X'04A2A26617DA9DDBB0B64CEC2B6079D2CD760CF70691DE063552C06EA8D153E2',1795440675543914,200,784111777,784111777,'Cache-Control:max-age=60
Content-Length:1000
Vary:Accept-Language,  Cookie
Date:Sun, 06 Nov 1994 08:49:37 GMT
','accept-language
cookie
',NULL);
INSERT INTO "entry" VALUES(4,'http://example.test/c',0,NULL,3,X'039058C6F2C0CB492C533B0A4D14EF77CC0F78ABCCCED5287D84A1A2011CFB81',1795440675497632,200,784111777,784111777,'Cache-Control:max-age=60
Content-Length:1000
Date:Sun, 06 Nov 1994 08:49:37 GMT
','',X'010203');
CREATE TABLE usage (bytes INTEGER NOT NULL, salt BLOB) STRICT;
INSERT INTO "usage" VALUES(3539,X'93E232DA36ED9415D8F0F8DF630569A8');
CREATE INDEX entry_accessed ON entry(accessed) WHERE state = 0;
CREATE INDEX entry_unsettled ON entry(writer) WHERE state <> 0;
CREATE UNIQUE INDEX entry_ready ON entry(key, variant) WHERE state = 0;
CREATE TRIGGER entry_added AFTER INSERT ON entry
    BEGIN UPDATE usage SET bytes = bytes + new.bytes + max(512, length(CAST(new.key AS BLOB)) + length(CAST(new.fields AS BLOB)) + length(CAST(new.variant AS BLOB))); END;
CREATE TRIGGER entry_removed AFTER DELETE ON entry
    BEGIN UPDATE usage SET bytes = bytes - old.bytes - max(512, length(CAST(old.key AS BLOB)) + length(CAST(old.fields AS BLOB)) + length(CAST(old.variant AS BLOB))); END;
CREATE TRIGGER entry_resized AFTER UPDATE OF bytes, key, fields, variant ON entry
    BEGIN UPDATE usage SET bytes = bytes - old.bytes - max(512, length(CAST(old.key AS BLOB)) + length(CAST(old.fields AS BLOB)) + length(CAST(old.variant AS BLOB))) + new.bytes + max(512, length(CAST(new.key AS BLOB)) + length(CAST(new.fields AS BLOB)) + length(CAST(new.variant AS BLOB))); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('entry',4);
COMMIT;
