/**
 * The lease's epoch of the cycle that last wrote to a goal's transcript; NULL where no cycle did, or something else has since. The
 * process that had this lease need not read the transcript again.
 */
export const transcriptEpochs = `
ALTER TABLE goals ADD COLUMN transcript_epoch INTEGER;
`
