"""chalk.harbor's reading of rewards."""

import os
import tempfile
import unittest

from chalk.harbor import read_rewards


class Rewards(unittest.TestCase):
    def read(self, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                with open(os.path.join(folder, "reward." + name), "w", encoding="utf-8") as file:
                    file.write(text)
            return read_rewards(folder)

    def test_a_text_is_a_number(self):
        self.assertEqual(self.read(txt=" 0.25\n"), (0.25, {"reward": 0.25}))
        with self.assertRaisesRegex(ValueError, "expected a number, got 'yes'"):
            self.read(txt="yes")

    def test_json_stands_above_text(self):
        self.assertEqual(self.read(json='{"reward": 1}', txt="0"), (1.0, {"reward": 1}))

    def test_of_several_rewards_the_one_of_that_name_counts(self):
        self.assertEqual(self.read(json='{"style": 0, "reward": 0.5}')[0], 0.5)
        self.assertEqual(self.read(json='{"accuracy": 0.75}')[0], 0.75)
        with self.assertRaisesRegex(ValueError, 'expected a "reward" among a, b'):
            self.read(json='{"a": 1, "b": 0}')

    def test_what_is_no_reward_is_refused(self):
        for text in ("[]", "{}", '{"reward": "1"}', '{"reward": true}', "{"):
            with self.assertRaises(ValueError):
                self.read(json=text)


if __name__ == "__main__":
    unittest.main()
