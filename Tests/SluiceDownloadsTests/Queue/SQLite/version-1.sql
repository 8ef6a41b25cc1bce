BEGIN TRANSACTION;
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    url TEXT NOT NULL,
    folder TEXT NOT NULL,
    name TEXT NOT NULL,
    target BLOB NOT NULL,
    lane INTEGER NOT NULL REFERENCES lane (id),
    priority INTEGER NOT NULL,
    state INTEGER NOT NULL,
    failures INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER,
    -- The lease of a running job.
    worker TEXT,
    token INTEGER,
    lease_until INTEGER,
    -- Whether its worker must cancel it.
    is_cancelled INTEGER NOT NULL DEFAULT 0,
    -- Whether a lost worker may have published the file.
    may_be_published INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER,
    message TEXT,
    created INTEGER NOT NULL,
    ended INTEGER
);
INSERT INTO "job" VALUES(2,'https://host.example/done','file:///music/','done',X'2F6D757369632F646F6E65',2,0,2,0,NULL,NULL,NULL,NULL,0,0,7,NULL,1000000,1000000);
INSERT INTO "job" VALUES(3,'https://other.example:81/failed','file:///music/','failed',X'2F6D757369632F6661696C6564',3,0,3,1,NULL,NULL,NULL,NULL,0,0,NULL,'gone',1000000,1000000);
INSERT INTO "job" VALUES(4,'https://host.example/cancelled','file:///music/','cancelled',X'2F6D757369632F63616E63656C6C6564',4,0,1,0,NULL,'34u84k2ngs3f8',3417456534048355464,1060000,1,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(6,'https://host.example/running','file:///music/','running',X'2F6D757369632F72756E6E696E67',2,4,1,0,NULL,'34u84k2ngs3f8',35392824461746871,1060000,0,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(7,'https://host.example/delayed','file:///music/','delayed',X'2F6D757369632F64656C61796564',4,0,5,1,1050000,NULL,NULL,NULL,0,0,NULL,'slow',1000000,NULL);
INSERT INTO "job" VALUES(8,'https://host.example/cancelling','file:///music/','cancelling',X'2F6D757369632F63616E63656C6C696E67',4,0,1,0,NULL,'34u84k2ngs3f8',1571212242750602964,1060000,1,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(9,'https://host.example/w1','file:///music/','w1',X'2F6D757369632F7731',5,1,0,0,NULL,NULL,NULL,NULL,0,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(10,'https://host.example/w2','file:///music/','w2',X'2F6D757369632F7732',5,2,0,0,NULL,NULL,NULL,NULL,0,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(11,'https://host.example/it''s%20%22x%22%20%F0%9F%8E%B5%20caf%C3%A9','file:///music/','it''s "x" 🎵 café',X'2F6D757369632F697427732022782220F09F8EB520636166C3A9',5,1,0,0,NULL,NULL,NULL,NULL,0,0,NULL,NULL,1000000,NULL);
INSERT INTO "job" VALUES(12,'https://host.example/w3','file:///music/','w3',X'2F6D757369632F7733',1,0,0,0,NULL,NULL,NULL,NULL,0,0,NULL,NULL,1000000,NULL);
CREATE TABLE lane (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    user TEXT NOT NULL,
    UNIQUE (host, user)
);
INSERT INTO "lane" VALUES(1,'host.example','');
INSERT INTO "lane" VALUES(2,'host.example','ann');
INSERT INTO "lane" VALUES(3,'other.example:81','');
INSERT INTO "lane" VALUES(4,'host.example','ben');
INSERT INTO "lane" VALUES(5,'host.example','cleo');
CREATE TABLE membership (
    batch TEXT NOT NULL,
    job INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    PRIMARY KEY (batch, job)
) WITHOUT ROWID;
INSERT INTO "membership" VALUES('list',2);
INSERT INTO "membership" VALUES('list',3);
INSERT INTO "membership" VALUES('',4);
INSERT INTO "membership" VALUES('list',6);
INSERT INTO "membership" VALUES('second',6);
INSERT INTO "membership" VALUES('list',7);
INSERT INTO "membership" VALUES('',8);
INSERT INTO "membership" VALUES('list',9);
INSERT INTO "membership" VALUES('list',10);
INSERT INTO "membership" VALUES('other',10);
INSERT INTO "membership" VALUES('list',11);
INSERT INTO "membership" VALUES('',12);
INSERT INTO "membership" VALUES('other',12);
CREATE TABLE worker (name TEXT PRIMARY KEY) WITHOUT ROWID;
INSERT INTO "worker" VALUES('34u84k2ngs3f8');
CREATE UNIQUE INDEX job_key ON job (target, url);
CREATE INDEX job_in_lane ON job (lane, priority DESC, id) WHERE state = 0;
CREATE INDEX job_in_line ON job (priority DESC, id) WHERE state IN (0, 5);
CREATE INDEX job_delayed ON job (not_before) WHERE state = 5;
CREATE INDEX job_running ON job (worker, id) WHERE state = 1;
CREATE INDEX job_ended ON job (ended, id, state) WHERE state IN (2, 3, 4);
CREATE INDEX membership_of_job ON membership (job);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('job',12);
COMMIT;
