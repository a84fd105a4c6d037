import type { DetectiveCase } from '../contract.ts'

export const orchids: DetectiveCase = {
  name: 'orchids',
  title: 'Poison in the palm house',
  story:
    'Three days before the great show all forty ghost orchids of the botanical garden are dead. There was salt in the water of the palm house, much of it, and only there. The garden had been sure to win.',
  suspects: [
    { name: 'Clemens Abt', about: 'Director of the garden, ten years in office.' },
    { name: 'Rosa Ilves', about: 'Gardener who raised the orchids from seed.' },
    { name: 'Viktor Hahn', about: 'Breeder of the rival house, five times second.' },
    { name: 'Paula Stern', about: 'Treasurer of the society of friends of the garden.' },
  ],
  motives: [
    { name: 'envy', about: 'Others were not to win again.' },
    { name: 'embezzlement', about: 'Money that was missing was not to be missed.' },
    { name: 'anger', about: 'Someone had been treated badly.' },
    { name: 'accident', about: 'No one meant it, and no one owned up.' },
  ],
  rounds: [
    [
      'Viktor Hahn was seen at the gate on Saturday; he has said in public that envy is the only thing he has ever been given there.',
      'Rosa Ilves was refused a permanent post on Friday, and left in anger.',
      'The salt was put into the tank between Saturday noon and Sunday morning.',
    ],
    [
      'Viktor Hahn came on Saturday to bring his entry form; the porter walked with him the whole way, and back. He could not have been near the tank.',
      'The orchids were to be sold after the show, and the price was to be audited together with the accounts of the friends.',
      'Paula Stern owed the society an answer about a bill for salt: two hundred kilograms, for paths that are of gravel.',
    ],
    [
      'Rosa Ilves was in hospital from Friday night until Monday; the ward confirms it. She was away.',
      'Accounts of the friends were hidden in the boiler room: a fund for orchids has been empty since spring, which is embezzlement.',
      'Clemens Abt ordered the tank to be flushed on Sunday, which saved the palms.',
    ],
    [
      'The key to the pump was lent on Saturday at five to Paula Stern, who lied about it until the book was found.',
      'Salt was found in the boot of her car. Without orchids there would have been no sale and no audit.',
      'Clemens Abt spoke at a wedding sixty kilometres away on Saturday; eighty guests are his alibi.',
    ],
  ],
  solution: {
    suspect: 'Paula Stern',
    motive: 'embezzlement',
    explanation:
      'The fund for the orchids was empty, and the sale after the show would have shown it. She salted the tank on Saturday, with salt that she had charged to the society.',
  },
}
