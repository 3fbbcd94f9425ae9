"""A file of a teacher's own cases, for the tests of what is said of them."""

SECRET = 0.7310585786  # in float16 0.73095703125; nothing of it may be shown
FILE = f"""
[[silu_backward]]
name = "two zeros"
hint = "What is divided by what?"
x = {{ values = [0.0, -0.0, {SECRET}], dtype = "float16" }}
dy = {{ values = [1.5, -2.5, {SECRET}], dtype = "float16" }}

[[silu_backward]]
name = "a wide matrix"
bonus = true
x = {{ normal = [0.0, 3.0], shape = [5, 300], layout = "strided" }}
dy = {{ uniform = [-1.0, 1.0], shape = [5, 300], layout = "expanded" }}
"""


def written(tmp_path, text: str):
    path = tmp_path / "hidden_cases.toml"
    path.write_text(text)
    return path
