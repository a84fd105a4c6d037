import { homedir } from 'node:os'

/** Returns the user's home folder; `/` for a user without one, as Docker does for a user id without an account. */
export function homeFolder(): string {
  try {
    return homedir()
  } catch {
    return '/'
  }
}
