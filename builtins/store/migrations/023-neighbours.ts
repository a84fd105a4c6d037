/** The processes of a project that come and go beside its daemon, and what they tell the one that records: nothing while none does. */
export const neighbours = `
CREATE TABLE svc_neighbours (owner TEXT PRIMARY KEY, pid INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE svc_recorder (owner TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE svc_told (n INTEGER PRIMARY KEY AUTOINCREMENT, statements TEXT NOT NULL) STRICT;
`
