/** The process that records, and what others have written that it has not taken in yet: nothing while none does. */
export const neighbours = `
CREATE TABLE svc_recorder (owner TEXT PRIMARY KEY, pid INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE svc_told (n INTEGER PRIMARY KEY AUTOINCREMENT, statements TEXT NOT NULL) STRICT;
`
