"""The data pipeline on Spark: recordings into tables, rules, metrics, report. The only room that imports pyspark."""
