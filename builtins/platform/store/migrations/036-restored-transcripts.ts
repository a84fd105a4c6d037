/** What was said for a goal before a checkpoint restored it: until now it was removed when the goal ended again. */
export const restoredTranscripts = `
DELETE FROM ended_transcripts WHERE goal_id IN (SELECT goal_id FROM goals WHERE status = 'active');
`
