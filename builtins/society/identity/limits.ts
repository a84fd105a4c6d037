/** Maximum number of entries of each kind in an identity; notes record how it changed. */
export const OPINIONS = 20
export const QUESTIONS = 12
export const CHAPTERS = 20
export const NOTES = 50
