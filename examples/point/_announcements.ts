// A point of its own: a place where plugins contribute things of one kind, here what is announced each morning.
// A file whose name begins with "_" is no plugin: it is shared by those that import it.
import { point } from 'svc'

export interface Announcement {
  name: string
  text(): string
}

export const Announcements = point<Announcement>('announcements', {
  key: announcement => announcement.name,
  check({ name }) {
    if (name.trim() === '') throw new TypeError('An announcement needs a name.')
  },
})
