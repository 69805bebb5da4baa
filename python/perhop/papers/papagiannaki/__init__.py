"""The mark that acknowledgments should carry: the study of Papagiannaki and others."""
