import { describe, expect, test } from '@jest/globals'
import { Option } from 'commander'
import { CLIENT_SETTINGS, SETTING_NAMES } from '../../src/storage/client-settings-table.js'

describe.each(SETTING_NAMES)('the setting %s of the table of client settings', (name) => {
  const setting = CLIENT_SETTINGS[name]

  test('has options whose values commander returns under its name, or the one that the table says', () => {
    const names = Object.keys(setting.options).map((flags) => new Option(flags).attributeName())
    expect(new Set(names)).toEqual(new Set(['option' in setting ? setting.option : name]))
  })

  test('has a member in snake_case that no other setting has', () => {
    expect(setting.member).toMatch(/^[a-z]+(_[a-z]+)*$/)
    const members: readonly string[] = SETTING_NAMES.map((each) => CLIENT_SETTINGS[each].member)
    expect(members.filter((member) => member === setting.member)).toHaveLength(1)
  })
})
