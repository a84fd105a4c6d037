/** At most so many of each are kept of an identity; notes are of how it changed. */
export const OPINIONS = 20
export const QUESTIONS = 12
export const CHAPTERS = 20
export const NOTES = 50
