"""The declared columns are those that are made, and the dictionary says all of them."""

from ironsweep.codegen import NUMBERS
from ironsweep.columns import declared, dictionary, names_of


def test_every_column_is_in_the_dictionary_and_every_number_has_a_unit() -> None:
    rows = dictionary()
    assert len(rows) == sum(len(table.columns) for table in declared().values())
    assert (rows["description"].str.len() > 0).all()
    numbers = rows[rows["type"].isin(["number", "integer"])]
    assert (numbers["unit"].str.len() > 0).all()
    assert (rows[rows["type"].isin(["string", "boolean"])]["unit"] == "").all()


def test_what_is_known_of_code_is_in_its_table() -> None:
    assert names_of("codegen")[-len(NUMBERS) :] == list(NUMBERS)
