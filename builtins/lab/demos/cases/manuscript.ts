import type { DetectiveCase } from '../contract.ts'

export const manuscript: DetectiveCase = {
  name: 'manuscript',
  title: 'The manuscript that was not there',
  story:
    'On Tuesday morning the reading room of the Halvorsen Library opens, and the glass case in its middle is empty. The Ravensburg herbal of 1481 is gone. The case was opened with a key. Four people had been in the house after it closed.',
  suspects: [
    { name: 'Edda Winter', about: 'Head librarian for nineteen years; keeps the keys.' },
    { name: 'Tobias Rehm', about: 'Restorer, who worked on the binding last winter.' },
    { name: 'Lucian Faber', about: 'Antiquarian and patron, who lent the money for the glass case.' },
    { name: 'Nora Quist', about: 'Doctoral student, whose thesis is about the herbal.' },
  ],
  motives: [
    { name: 'money', about: 'It was to be sold, or to pay what was owed.' },
    { name: 'ambition', about: 'No one else was to write about it first.' },
    { name: 'revenge', about: 'The library was to be hurt.' },
    { name: 'shame', about: 'Something about the book was not to come to light.' },
  ],
  rounds: [
    [
      'Edda Winter says that both keys hung in her office all evening, and that she locked that office at seven.',
      'Nora Quist had a quarrel with the library last week: she was refused photographs of the herbal.',
      'Lucian Faber owed a dealer in Basel a large sum, which was paid on Monday.',
    ],
    [
      'The doorman saw Nora Quist leave at eight, and the tram camera shows her; she has an alibi for the night.',
      'Tobias Rehm lied about his evening: he said that he was at home, but his bicycle stood before the house until ten.',
      'The payment to Basel came from the sale of a house; the notary confirms it, so Lucian Faber had no need of money.',
    ],
    [
      'Wax was found in the lock of the office. It is the wax that Tobias Rehm uses in his workshop.',
      'A specialist from Lyon was expected on Wednesday to examine the binding of the herbal for the first time since it was restored.',
      'Edda Winter had asked the board in May for an alarm, which was refused; she is angry about it.',
    ],
    [
      'In the workshop six leaves of modern paper were found, stained with tea: trials for replaced pages. The shame of it would end a career.',
      'The true leaves were ruined by Tobias Rehm when a pot of glue fell over; his notebook hid it for a year.',
      'Edda Winter was on the telephone with her sister from half past eight to eleven; the records prove it.',
    ],
  ],
  solution: {
    suspect: 'Tobias Rehm',
    motive: 'shame',
    explanation:
      'He had spoilt six leaves and put copies in their place. The specialist would have seen it on Wednesday, so the book had to vanish on Monday. It was found behind the paper press, unharmed but for those leaves.',
  },
}
