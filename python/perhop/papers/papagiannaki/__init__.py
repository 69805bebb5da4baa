"""Which mark should acknowledgments carry: the study of Papagiannaki, Thiran, Crowcroft and Diot."""
